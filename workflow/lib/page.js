// Filter and search the ledger, mark what scrolls, open the menu; everything can be read without this.
const ledger = document.querySelector(".ledger");
if (ledger) {
  const rows = [...ledger.querySelectorAll("tr[data-verdict]")];
  const [search, verdict, shown] = ["search", "verdict", "shown"].map(id => document.getElementById(id));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(words.every(word => text.includes(word)) && (!verdict.value || row.dataset.verdict === verdict.value));
    }
    for (const topic of ledger.tBodies) topic.hidden = !rows.some(row => topic.contains(row) && !row.hidden);
    shown.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  for (const count of document.querySelectorAll("[data-filter]"))
    count.addEventListener("click", () => { search.value = ""; verdict.value = count.dataset.filter; filter(); });
  // A link to a claim shows it, whatever the filter hides.
  const arrive = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !rows.includes(target)) return;
    search.value = verdict.value = "";
    filter();
    target.querySelector("details").open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  document.querySelector(".tools").hidden = false;
  filter();
  arrive();
}
// Say of each box whether it scrolls sideways.
const sizes = new ResizeObserver(boxes => boxes.forEach(({ target }) =>
  target.classList.toggle("wide", target.scrollWidth > target.clientWidth)));
for (const box of document.querySelectorAll(".scroll")) sizes.observe(box);
// The menu is open beside the text on wide screens; on narrow ones it is closed and stays at the top.
const nav = document.querySelector("nav"), menu = nav.firstElementChild, wide = matchMedia("(min-width: 64rem)");
const place = () => { menu.open = wide.matches; };
nav.classList.add("menu");
wide.addEventListener("change", place);
place();
nav.addEventListener("click", event => { if (event.target.tagName === "A" && !wide.matches) menu.open = false; });
