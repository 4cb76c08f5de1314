// Theme button; values of marks by mouse and by arrow keys. The page is complete without it.
(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var order = ["auto", "light", "dark"], at = 0;
  function show() {
    if (order[at] === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", order[at]);
    button.textContent = "theme: " + order[at];
  }
  if (button) {
    button.hidden = false;
    button.addEventListener("click", function () { at = (at + 1) % 3; show(); });
    show();
  }
  document.querySelectorAll("figure").forEach(function (figure) {
    var out = figure.querySelector(".readout"), svg = figure.querySelector("svg");
    if (!out || !svg) return;
    var marks = Array.prototype.slice.call(svg.querySelectorAll(".m")), here = -1;
    function text(mark) { var t = mark.querySelector("title"); return t ? t.textContent : ""; }
    function choose(i) {
      if (here >= 0) marks[here].classList.remove("on");
      here = i;
      if (here < 0) { out.textContent = out.dataset.hint; return; }
      marks[here].classList.add("on");
      out.textContent = text(marks[here]);
      if (marks[here].scrollIntoView) marks[here].scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    out.dataset.hint = out.textContent;
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", function (e) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") choose(-1);
      else if (e.key === "Home") choose(0);
      else if (e.key === "End") choose(marks.length - 1);
      else if (step) choose((here + step + marks.length) % marks.length);
      else return;
      e.preventDefault();
    });
    svg.addEventListener("blur", function () { choose(-1); });
    marks.forEach(function (mark) {
      mark.addEventListener("mouseenter", function () { out.textContent = text(mark); });
      mark.addEventListener("mouseleave", function () { out.textContent = here < 0 ? out.dataset.hint : text(marks[here]); });
    });
  });
})();
