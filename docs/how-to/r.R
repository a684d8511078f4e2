# Asks a served vault from R: over MySQL with dbplyr, and over HTTP with httr2. docs/how-to/r.md explains it.
# Run it with the vault served as that page says, and the user's token in TOKEN:
#
#   TOKEN=… Rscript -e 'options(keep.source = TRUE); source("r.R", echo = TRUE, max.deparse.length = Inf)'

library(DBI)
library(dplyr, warn.conflicts = FALSE)
library(dbplyr, warn.conflicts = FALSE)
options(width = 100, pillar.width = 100)

vault <- dbConnect(RMySQL::MySQL(),
  host = "127.0.0.1", port = 3307, username = "analyst-1", password = Sys.getenv("TOKEN"), dbname = "discreet"
)
dbExecute(vault, "SET discreet_within = 100")

people <- tbl(vault, "people")
colnames(people)

elderly <- people |>
  filter(age >= 65L) |>
  group_by(sex) |>
  summarise(n = n())
show_query(elderly)
collect(elderly)
dbGetQuery(vault, "SHOW WARNINGS")

people |>
  filter(region %in% c("Arden", "Belmont"), age >= 18L) |>
  group_by(region) |>
  summarise(n = n(), age = mean(age, na.rm = TRUE)) |>
  collect()

dbExecute(vault, "SET discreet_intervals = 1")
dbGetQuery(vault, "SELECT sex, COUNT(*) AS n FROM people WHERE age >= 65 GROUP BY sex")

collect(head(people))
tryCatch(collect(people |> summarise(n = n_distinct(age))), error = function(e) cat(conditionMessage(e), "\n"))
dbDisconnect(vault)

library(httr2)
api <- request("http://127.0.0.1:8801/api/v1") |>
  req_auth_bearer_token(Sys.getenv("TOKEN"))
question <- list(sql = "SELECT education, COUNT(*) FROM people WHERE age >= 25 GROUP BY education", scale = 20)

explained <- api |>
  req_url_path_append("explain") |>
  req_body_json(question) |>
  req_perform() |>
  resp_body_json()
explained$cost

answer <- api |>
  req_url_path_append("ask") |>
  req_body_json(question) |>
  req_perform() |>
  resp_body_json(simplifyVector = TRUE)
with(answer$rows, data.frame(labels, value, low, high, kind))
answer$cost

refused <- api |>
  req_url_path_append("ask") |>
  req_body_json(list(sql = "SELECT COUNT(*) FROM people WHERE agee > 3")) |>
  req_error(is_error = \(response) FALSE) |>
  req_perform()
resp_status(refused)
resp_body_json(refused)$error$message
