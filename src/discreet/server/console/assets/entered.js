// Whoever has just signed in goes on from a page of this server, as if they had followed its link.
document.getElementById("onward").click();
