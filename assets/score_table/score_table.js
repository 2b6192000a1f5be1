// Rows that sort by a click on a column's name and open by a click on their own. Text enters by textContent only.
// The mark that follows says which row is open.

const AT_FIRST = 60;

function cell(tag, className) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const [frame, table] = ["frame", "table"].map((name) => parentElement.querySelector(name === "frame" ? ".frame" : name));
  const [caption, header, body] = table.children;
  const more = parentElement.querySelector(".more");
  const content = JSON.stringify(data);
  const kept = table.kept?.name === data.name ? table.kept : { sort: data.sort, down: true, all: false };
  table.kept = { ...kept, name: data.name };
  caption.textContent = data.name;
  frame.style.setProperty("--tone", data.tone);
  let opened = window.explorerMarks?.[data.target]?.row ?? "";

  const most = data.columns.map((column, place) =>
    column.bar ? Math.max(...data.rows.map((row) => Math.abs(row.cells[place] ?? 0)), column.bar) : 0,
  );

  function shown(value, column) {
    if (value === null || value === undefined) return "–";
    if (Array.isArray(value)) return value.join("  ");
    return typeof value === "number" ? value.toFixed(column.digits ?? 0).replace("-", "−") : value;
  }

  function sorted() {
    const { sort, down } = table.kept;
    const order = (one, other) => {
      const [a, b] = [one.cells[sort], other.cells[sort]];
      if (a === b) return 0;
      if (a === null || a === "") return 1; // what has no value is last, whichever way
      if (b === null || b === "") return -1;
      const magnitude = data.columns[sort].size && typeof a === "number";
      const more = magnitude ? Math.abs(a) > Math.abs(b) : a > b;
      return more === down ? -1 : 1;
    };
    return [...data.rows].sort(order);
  }

  function fill() {
    const rows = sorted();
    const part = table.kept.all ? rows : rows.slice(0, AT_FIRST);
    body.replaceChildren(
      ...part.map((row) => {
        const line = cell("tr");
        line.dataset.id = row.id;
        row.cells.forEach((value, place) => {
          const column = data.columns[place];
          const box = cell("td", typeof value === "number" || value === null ? "number" : Array.isArray(value) ? "tokens" : "");
          if (place === 0) {
            const button = cell("button");
            button.type = "button";
            button.textContent = row.name;
            button.onclick = () => open(row.id);
            box.append(button);
            box.className = "";
          } else box.textContent = shown(value, column);
          if (column.bar && typeof value === "number") {
            box.style.setProperty("--share", `${((Math.abs(value) / most[place]) * 100).toFixed(1)}%`);
          }
          line.append(box);
        });
        return line;
      }),
    );
    more.hidden = part.length === rows.length;
    more.textContent = `Show all ${rows.length.toLocaleString("en")}`;
    marked();
  }

  function open(id) {
    opened = id;
    marked();
    setTriggerValue("picked", id);
  }

  function marked() {
    for (const line of body.children) line.setAttribute("aria-current", String(line.dataset.id === opened));
  }

  function names() {
    header.replaceChildren(
      data.columns.reduce((line, column, place) => {
        const box = cell("th", column.digits !== undefined && place ? "number" : "");
        const sort = place === table.kept.sort;
        box.scope = "col";
        box.setAttribute("aria-sort", sort ? (table.kept.down ? "descending" : "ascending") : "none");
        const button = cell("button");
        button.type = "button";
        button.title = column.note ?? "";
        button.textContent = column.title + (sort ? (table.kept.down ? " ▾" : " ▴") : "");
        button.onclick = () => {
          table.kept = { ...table.kept, sort: place, down: sort ? !table.kept.down : place > 0 };
          names();
          fill();
          header.querySelectorAll("button")[place].focus();
        };
        box.append(button);
        line.append(box);
        return line;
      }, cell("tr")),
    );
  }

  if (table.dataset.content !== content) {
    table.dataset.content = content;
    names();
    fill();
  }
  more.onclick = () => {
    table.kept = { ...table.kept, all: true };
    fill();
  };
  table.release?.();
  const onMark = (event) => {
    if (event.detail.target !== data.target) return;
    opened = event.detail.row;
    marked();
  };
  window.addEventListener("explorer-mark", onMark);
  table.release = () => window.removeEventListener("explorer-mark", onMark);
  marked();
  return () => table.release();
}
