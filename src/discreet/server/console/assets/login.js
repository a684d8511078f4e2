// A token handed over in the address' fragment, which browsers never send: into the form, out of the address, and in.
const field = document.getElementById("token");
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  field.value = given;
  field.form.requestSubmit();
}
