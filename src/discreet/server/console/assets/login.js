// A token handed over in the address' fragment, which browsers never send: into the form, out of the address, and in.
// Also where the page stands there already, and the address with the token is put in after.
const field = document.getElementById("token");
function enter() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    field.value = given;
    field.form.requestSubmit();
  }
}
addEventListener("hashchange", enter);
enter();
