// Vectors side by side, a column for each token. A click on a token selects it. Text enters by textContent only.

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function heading(data, index, pick) {
  const cell = element("th", "", index === data.selected ? "chosen" : "");
  const button = element("button", data.labels[index]);
  const id = element("small", data.ids[index]);
  cell.scope = "col";
  button.type = "button";
  button.title = `token ${data.first + index}, id ${data.ids[index]}`;
  button.setAttribute("aria-pressed", String(index === data.selected));
  button.onclick = () => pick(data.first + index);
  button.append(id);
  cell.append(button);
  return cell;
}

function line(data, row) {
  const made = element("tr", "", row.look);
  const name = element("th", row.name);
  name.scope = "row";
  made.append(name, ...row.cells.map((cell, index) => element("td", cell, index === data.selected ? "chosen" : "")));
  return made;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const [caption, head, body] = parentElement.querySelector("table").children;
  const focused = parentElement.querySelector("button:focus")?.title;
  const pick = (place) => setTriggerValue("picked", place);
  const corner = element("th", data.corner);
  const top = element("tr", "");
  corner.scope = "col";
  top.append(corner, ...data.labels.map((_, index) => heading(data, index, pick)));
  caption.textContent = data.name;
  parentElement.querySelector(".frame").setAttribute("aria-label", data.name);
  head.replaceChildren(top);
  body.replaceChildren(...data.rows.map((row) => line(data, row)));
  [...head.querySelectorAll("button")].find((button) => button.title === focused)?.focus();
  const frame = parentElement.querySelector(".frame");
  const chosen = top.children[data.selected + 1];
  if (chosen && !focused) {
    const side = corner.offsetWidth;
    const left = chosen.offsetLeft - side;
    const right = chosen.offsetLeft + chosen.offsetWidth - frame.clientWidth;
    if (left < frame.scrollLeft) frame.scrollLeft = left;
    else if (right > frame.scrollLeft) frame.scrollLeft = right;
  }
}
