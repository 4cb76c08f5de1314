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
  // A heat map is a few paths; its values stand in the table behind it.
  function heat(figure, svg, out) {
    var map = svg.querySelector(".heat"), rows = figure.querySelectorAll(".matrix tr"), cursor = svg.querySelector(".cursor");
    var count = +map.dataset.count, cell = +map.dataset.cell, left = +map.dataset.left, top = +map.dataset.top, row = -1, column = -1;
    function show(i, k) {
      if (i < 0 || k < 0 || i >= count || k >= count) { cursor.classList.remove("on"); out.textContent = out.dataset.hint; return; }
      cursor.setAttribute("x", left + k * cell);
      cursor.setAttribute("y", top + i * cell);
      cursor.classList.add("on");
      out.textContent = "SMs of partition " + i + ", slices of partition " + k + ": " + rows[i].cells[k + 1].textContent.trim() + " % of the bytes";
    }
    svg.addEventListener("keydown", function (e) {
      var step = { ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowUp: [-1, 0] }[e.key];
      if (e.key === "Escape") row = column = -1;
      else if (e.key === "Home") row = column = 0;
      else if (e.key === "End") row = column = count - 1;
      else if (!step) return;
      else if (row < 0) row = column = 0;
      else { row = (row + step[0] + count) % count; column = (column + step[1] + count) % count; }
      show(row, column);
      e.preventDefault();
    });
    svg.addEventListener("blur", function () { row = column = -1; show(row, column); });
    svg.addEventListener("mousemove", function (e) {
      var at = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
      show(Math.floor((at.y - top) / cell), Math.floor((at.x - left) / cell));
    });
    svg.addEventListener("mouseleave", function () { show(row, column); });
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
    if (svg.querySelector(".heat")) { heat(figure, svg, out); return; }
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
