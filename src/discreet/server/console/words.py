"""The words that pages use, each explained once: on hover, and in the glossary."""

KINDS = {
    "measured": "Noise was drawn for it now, and the budget of its region paid.",
    "repeated": "The same was measured before: the same answer again, for nothing.",
    "derived": "It follows from facts and answers that were released before, for nothing.",
    "relaxed": "Too little budget is left there, so this is the nearest that released answers come to it, for nothing.",
    "unanswered": "Too little budget is left there, and nothing that was released answers it.",
    "modelled": "Read from the model of everything public, for nothing: sharper than unbiased numbers, and biased.",
    "mixed": "Some numbers are new and some follow from what was released before; each line says which.",
}
"""Where an answer comes from."""
WORDS: dict[str, str] = {
    "ε": "The privacy budget, and what is spent of it: the larger, the more could be learnt of one person. An answer "
    "changes the odds of anything that is guessed about somebody by at most a factor of e^ε.",
    "budget": "All that may ever be spent on one person. It is spent once: what was released stays released.",
    "interval": "Noise was added, so a number comes with bounds. Of intervals at 95%, 19 in 20 hold the true number.",
    "within ±": "How far from the true number an answer may be, at the chosen confidence. Twice as sharp costs twice "
    "as much ε, or four times as much ρ.",
    **KINDS,
    "unbiased": "Made of noisy numbers alone: on average over the noise, it is the true number.",
    "refined": "Made sharper by what is public besides, released numbers and facts, for nothing. Every answer is.",
    "too noisy": "The interval is as wide as the number itself: it says hardly more than that it is small.",
    "quota": "The most that one user's own questions may spend. The budget is everybody's; a quota keeps one from "
    "spending it all.",
    "region": "The people that a question is about, as its WHERE says. Budget is spent by region: who was not asked "
    "about has lost nothing.",
    "release": "Numbers that were measured with noise and are public from then on. What follows from them is free.",
    "cube": "Counts by several attributes at once, measured together and made to fit each other.",
    "cuboid": "One of a cube's tables: the counts by some of its dimensions.",
    "lattice": "All cuboids of a cube, each joined to those with one dimension more.",
    "buckets": "Rows that are published in two tables which share only the number of a bucket: a limit on what can be "
    "guessed, and no differential privacy.",
    "fact": "An exact number that is public anyway. It makes answers sharper, and it counts against the budget.",
    "ledger": "The journal of all that was ever spent, in which nothing can be changed unnoticed.",
    "receipt": "The last entry's number and hash. Who keeps one can prove what came before it.",
    "shrunken": "An estimate of one line that leans on all lines of a long table: less noisy on average, and biased.",
}
