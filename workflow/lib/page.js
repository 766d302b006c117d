// Filter, search and sort the ledger; everything can be read without this.
const ledger = document.querySelector(".ledger");
if (ledger) {
  const body = ledger.tBodies[0], rows = [...body.rows];
  const tools = document.querySelector(".tools");
  const [search, verdict, shown] = ["search", "verdict", "shown"].map(id => document.getElementById(id));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(words.every(word => text.includes(word)) && (!verdict.value || row.dataset.verdict === verdict.value));
    }
    shown.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  for (const head of ledger.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.style = "all: unset; cursor: pointer; text-decoration: underline dotted";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => row.cells[head.cellIndex].dataset.key ?? row.cells[head.cellIndex].textContent;
      rows.sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (up ? 1 : -1));
      body.append(...rows);
    });
  }
  // A link to a claim shows it, whatever the filter hides.
  const arrive = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !ledger.contains(target)) return;
    search.value = verdict.value = "";
    filter();
    target.querySelector("details").open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  tools.hidden = false;
  filter();
  arrive();
}
// The menu is open beside the text on wide screens and closed above it on narrow ones.
const menu = document.querySelector("nav details"), wide = matchMedia("(min-width: 64rem)");
const place = () => { menu.open = wide.matches; };
wide.addEventListener("change", place);
place();
menu.addEventListener("click", event => { if (event.target.tagName === "A" && !wide.matches) menu.open = false; });
