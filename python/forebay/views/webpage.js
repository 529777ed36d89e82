// Switches for the series, and the values of the measured buffer nearest to the pointer. The page reads well without it.
"use strict";
(() => {
  const pictures = document.getElementById("pictures");
  const tip = document.getElementById("tip");

  for (const input of pictures.querySelectorAll("[data-series]")) {
    input.addEventListener("change", () => {
      for (const part of pictures.querySelectorAll(`svg .s-${input.dataset.series}`)) {
        part.style.display = input.checked ? "" : "none";
      }
    });
  }

  // A browser's own tooltips, which are there for readers without scripts, would appear beside ours.
  for (const title of pictures.querySelectorAll(".pt > title")) title.remove();

  const points = (svg) =>
    [...svg.querySelectorAll(".pt")].filter((point) => point.parentNode.style.display !== "none");
  const middle = (point) => {
    const box = point.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };

  let shown = null;
  const show = (point) => {
    hide();
    shown = point;
    // The same buffer in every picture.
    for (const other of pictures.querySelectorAll(`.pt[data-buffer="${point.dataset.buffer}"]`)) {
      other.classList.add("here");
    }
    tip.textContent = point.dataset.tip;
    tip.hidden = false;
    const [x, y] = middle(point);
    const room = document.documentElement.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(4, Math.min(x + 12, room))}px`;
    tip.style.top = `${Math.max(4, y - tip.offsetHeight - 12)}px`;
  };
  const hide = () => {
    shown = null;
    tip.hidden = true;
    for (const point of pictures.querySelectorAll(".pt.here")) point.classList.remove("here");
  };

  for (const svg of pictures.querySelectorAll("svg")) {
    const nearest = (event) => {
      let best = null;
      let least = Infinity;
      for (const point of points(svg)) {
        const [x, y] = middle(point);
        // Across counts for more: a reader points at a buffer.
        const distance = Math.abs(x - event.clientX) * 3 + Math.abs(y - event.clientY);
        if (distance < least) [best, least] = [point, distance];
      }
      if (best !== null) show(best);
    };
    svg.addEventListener("pointermove", nearest);
    svg.addEventListener("pointerdown", nearest);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const all = points(svg).sort((one, other) => middle(one)[0] - middle(other)[0]);
      if (all.length === 0) return;
      event.preventDefault();
      const at = all.indexOf(shown);
      show(all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + step))]);
    });
  }
})();
