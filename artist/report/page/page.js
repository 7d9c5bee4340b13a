"use strict";
// Tables that are sorted by clicking a heading and filtered by typing. The first table's state lies in the
// address: #sort=jct_mean_s&by=difference&order=descending&filter=fifo&columns=all
(function () {
  const tables = Array.from(document.querySelectorAll("table.data"), prepare);

  function prepare(table) {
    const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
    const state = {sort: "", by: "value", order: "ascending", filter: "", columns: ""};
    const heads = Array.from(table.tHead.rows[0].cells);
    const rows = Array.from(table.tBodies[0].rows);
    const input = tools.querySelector("input[type=search]");
    const all = tools.querySelector("input[type=checkbox]");
    const one = {table, state, heads, rows, input, all, count: tools.querySelector(".count")};
    heads.forEach((head) => head.querySelectorAll("button").forEach((button) => {
      button.addEventListener("click", () => sortBy(one, head.dataset.name, button.dataset.by));
    }));
    input.addEventListener("input", () => { state.filter = input.value; show(one, true); });
    if (all) all.addEventListener("change", () => { state.columns = all.checked ? "all" : ""; show(one, true); });
    tools.hidden = false;
    return one;
  }

  function sortBy(one, name, by) {
    const state = one.state;
    const again = state.sort === name && state.by === by;
    state.order = again && state.order === "ascending" ? "descending" : "ascending";
    state.sort = name;
    state.by = by;
    show(one, true);
  }

  function show(one, keep) {
    const state = one.state, body = one.table.tBodies[0];
    const column = one.heads.findIndex((head) => head.dataset.name === state.sort);
    const sign = state.order === "descending" ? -1 : 1;
    const key = state.by === "difference" ? "d" : "v";
    const order = one.rows.slice();
    if (column >= 0) {
      const word = one.heads[column].classList.contains("word");
      order.sort((a, b) => compare(a.cells[column].dataset[key], b.cells[column].dataset[key], word, sign));
    }
    order.forEach((row) => body.appendChild(row));
    one.table.classList.toggle("sorted", column >= 0);
    one.heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", state.order); else head.removeAttribute("aria-sort");
      head.querySelectorAll("button").forEach((button) => {
        button.classList.toggle("used", i === column && button.dataset.by === state.by);
      });
    });
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    one.rows.forEach((row) => {
      row.hidden = !words.every((word) => row.dataset.text.includes(word));
      shown += row.hidden ? 0 : 1;
    });
    one.input.value = state.filter;
    if (one.all) one.all.checked = state.columns === "all";
    one.table.classList.toggle("all", state.columns === "all");
    one.count.textContent = `${shown} of ${one.rows.length} rows`;
    if (keep && one === tables[0]) remember(state);
  }

  // Missing values come last, whichever way it is sorted.
  function compare(a, b, word, sign) {
    const none = (text) => text === undefined || text === "";
    if (none(a) || none(b)) return none(a) - none(b);
    if (word) return sign * a.localeCompare(b, "en", {numeric: true});
    return sign * (Number(a) - Number(b));
  }

  function remember(state) {
    const said = new URLSearchParams();
    if (state.sort) {
      said.set("sort", state.sort);
      if (state.by === "difference") said.set("by", state.by);
      if (state.order === "descending") said.set("order", state.order);
    }
    if (state.filter) said.set("filter", state.filter);
    if (state.columns) said.set("columns", state.columns);
    try { history.replaceState(null, "", `#${said}`); } catch (error) { /* some browsers refuse it for files */ }
  }

  function recall() {
    if (!tables.length || (location.hash && !location.hash.includes("="))) return;
    const said = new URLSearchParams(location.hash.slice(1));
    const state = tables[0].state;
    state.sort = said.get("sort") || "";
    state.by = said.get("by") === "difference" ? "difference" : "value";
    state.order = said.get("order") === "descending" ? "descending" : "ascending";
    state.filter = said.get("filter") || "";
    state.columns = said.get("columns") === "all" ? "all" : "";
    show(tables[0], false);
  }

  // On paper: folded parts are open, and tables are no wider than the page, A4 less its margins. A table
  // whose text would be too small in one of two columns has the whole width.
  const PAPER_PX = 186 / 25.4 * 96, MAX_PT = 7, MIN_PT = 5.5;
  const folded = Array.from(document.querySelectorAll("details:not([open])"));
  function print(starts) {
    folded.forEach((part) => { part.open = starts; });
    document.body.classList.toggle("printed", starts);
    document.querySelectorAll("table").forEach((table) => {
      table.style.fontSize = starts ? `${MAX_PT}pt` : "";
      if (!starts) return;
      const fit = (room) => Math.min(MAX_PT, MAX_PT * 0.98 * room / table.offsetWidth);
      const half = fit(PAPER_PX / 2 - 12), slim = table.closest(".slim, .folds");
      if (slim) slim.className = half < MIN_PT ? "wide folds" : "wide slim";
      table.style.fontSize = `${table.closest(".slim, .beside") ? half : fit(PAPER_PX)}pt`;
    });
  }
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  tables.forEach((one) => show(one, false));
  recall();
  window.addEventListener("hashchange", recall);
})();
