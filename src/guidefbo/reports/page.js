
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

  function show(chosen) {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      panelOf(tab).hidden = !isChosen;
    }
  }

  function open(tab) {
    show(tab);
    history.replaceState(null, "", "#" + tab.getAttribute("aria-controls"));
  }

  // The address names a section, or a table or heading inside one.
  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const tab = target && tabs.find((t) => panelOf(t).contains(target));
    show(tab || tabs[0]);
    if (tab && panelOf(tab) !== target) target.scrollIntoView();
  }

  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const last = tabs.length - 1;
      const next = {
        ArrowRight: place === last ? 0 : place + 1,
        ArrowLeft: place === 0 ? last : place - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      open(tabs[next]);
      tabs[next].focus();
    });
  });
  addEventListener("hashchange", follow);
  follow();

  // Numbers by their value, names by their letters, what is missing last either way.
  function sort(table, column, isDown) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const isNumeric = rows.some((row) => row.cells[column].dataset.value !== undefined);
    const keyOf = (row) => {
      const cell = row.cells[column];
      if (!isNumeric) return cell.textContent.trim() || null;
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    const collator = new Intl.Collator("en", { numeric: true });
    const compare = isNumeric ? (a, b) => a - b : collator.compare;
    rows.sort((one, other) => {
      const [a, b] = [keyOf(one), keyOf(other)];
      if (a === null || b === null) return (a === null) - (b === null);
      return isDown ? compare(b, a) : compare(a, b);
    });
    body.append(...rows);
  }

  for (const head of document.querySelectorAll("thead th")) {
    head.querySelector("button").addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      sort(head.closest("table"), head.cellIndex, isDown);
    });
  }
})();
