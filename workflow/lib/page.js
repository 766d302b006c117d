// Everything can be read without this. Filters from the bar and from sections, open what a link leads to, values under the pointer.
const choose = value => { const radio = document.querySelector(`#claims .switch [value="${value}"]`); if (radio) radio.checked = true; };
const narrow = section => {
  for (const row of document.querySelectorAll("#claims tr[id]")) row.hidden = Boolean(section) && row.dataset.section !== section;
};
for (const link of document.querySelectorAll("[data-filter], [data-section]:is(a)"))
  link.addEventListener("click", () => { choose(link.dataset.filter || "all"); narrow(link.dataset.section); });
for (const radio of document.querySelectorAll("#claims .switch input")) radio.addEventListener("change", () => narrow());
// A link leads to what it names, whatever is closed or filtered.
const arrive = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  if (target.matches("tr")) { choose("all"); narrow(); target.querySelector("details").open = true; }
  target.scrollIntoView();
};
addEventListener("hashchange", arrive);
arrive();
// The nearest point of a chart tells its value, under a pointer or a finger.
const readout = document.getElementById("readout");
for (const chart of document.querySelectorAll("svg.chart")) {
  const told = [...chart.querySelectorAll(".mark")].filter(mark => mark.firstElementChild);
  const texts = new Map(told.map(mark => [mark, mark.firstElementChild.textContent]));
  for (const mark of told) mark.firstElementChild.remove();
  const tell = event => {
    let [nearest, least] = [null, 30];
    for (const mark of told) {
      if (mark.closest(".state") && getComputedStyle(mark.closest(".state")).opacity < 1) continue;
      const box = mark.getBoundingClientRect();
      const far = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
      if (far < least) [nearest, least] = [mark, far];
    }
    readout.hidden = !nearest;
    if (!nearest) return;
    const box = nearest.getBoundingClientRect();
    readout.textContent = texts.get(nearest);
    readout.style.left = `${Math.min(box.right + 8, innerWidth - readout.offsetWidth - 8)}px`;
    readout.style.top = `${Math.max(box.top - readout.offsetHeight - 6, 4)}px`;
  };
  chart.addEventListener("pointermove", tell);
  chart.addEventListener("pointerdown", tell);
  chart.addEventListener("pointerleave", () => { readout.hidden = true; });
}
