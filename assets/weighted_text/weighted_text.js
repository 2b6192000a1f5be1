// The tokens of a text, each with a number shown as the strength of its colour, and arcs from one token to those with
// the largest numbers. One tab stop, arrows move, Enter selects. Text enters by textContent only.

const STRONGEST = 70; // per cent of the tone: the text on it stays readable
const MOST_ARCS = 24;
const LEAST_ARC = 0.02;
const ARC_ROOM = 54;
const MANY = 80; // tokens from which on lines stand closer

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".text");
  const tokens = root.querySelector(".tokens");
  const told = root.querySelector(".told");
  const svg = root.querySelector("svg");
  const scroll = root.querySelector(".scroll");
  const page = root.querySelector(".page");
  const content = JSON.stringify(data.labels);
  if (tokens.dataset.content !== content) {
    tokens.dataset.content = content;
    tokens.replaceChildren(
      ...data.labels.map((label) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("role", "radio");
        button.textContent = label;
        return button;
      }),
    );
  }
  root.style.setProperty("--above", data.arcs ? `${ARC_ROOM}px` : "3px");
  root.style.setProperty("--between", data.arcs ? (data.labels.length > MANY ? "12px" : "26px") : "4px");
  tokens.setAttribute("aria-label", data.name);
  const buttons = [...tokens.children];
  const tell = (index) => {
    told.textContent = index >= 0 ? `${data.labels[index]}: ${data.shown[index]}` : "";
  };
  buttons.forEach((button, index) => {
    const value = data.values[index];
    button.className = value < 0 ? "token negative" : "token";
    button.style.setProperty("--tone", value < 0 ? data.tones[0] : data.tones[1]);
    button.style.setProperty("--weight", `${(Math.min(1, Math.abs(value)) * STRONGEST).toFixed(1)}%`);
    button.setAttribute("aria-checked", String(index === data.selected));
    button.setAttribute("aria-label", `Token ${index} ${data.labels[index]}: ${data.shown[index]}`);
    button.tabIndex = index === Math.max(0, data.selected) ? 0 : -1;
    button.onclick = () => setTriggerValue("picked", index);
    button.onmouseenter = button.onfocus = () => tell(index);
    button.onmouseleave = () => tell(data.selected);
    button.onkeydown = (event) => {
      const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
      if (target === undefined || !buttons[target]) return;
      event.preventDefault();
      buttons[target].focus();
    };
  });
  tell(data.selected);

  function arcs() {
    svg.replaceChildren();
    const from = buttons[data.selected];
    if (!data.arcs || !from) return;
    const frame = page.getBoundingClientRect();
    const top = (button) => {
      const box = button.getBoundingClientRect();
      return [box.left + box.width / 2 - frame.left, box.top - frame.top];
    };
    const [x, y] = top(from);
    data.values
      .map((value, index) => [Math.abs(value), index])
      .filter(([value, index]) => value >= LEAST_ARC && index !== data.selected)
      .sort((one, other) => other[0] - one[0])
      .slice(0, MOST_ARCS)
      .forEach(([value, index]) => {
        const [endX, endY] = top(buttons[index]);
        const rise = Math.min(y, endY) - Math.min(ARC_ROOM - 8, 14 + Math.abs(endX - x) * 0.12);
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", `M${x},${y} C${x},${rise} ${endX},${rise} ${endX},${endY}`);
        path.setAttribute("stroke", data.tones[1]);
        path.setAttribute("stroke-width", String(1 + 4 * value));
        path.setAttribute("stroke-opacity", String(0.35 + 0.6 * value));
        svg.append(path);
      });
  }

  const chosen = buttons[data.selected];
  if (chosen && scroll.scrollHeight > scroll.clientHeight) {
    const above = chosen.offsetTop - scroll.clientHeight / 2;
    if (Math.abs(scroll.scrollTop - above) > scroll.clientHeight / 2) scroll.scrollTop = above;
  }
  arcs();
  root.watcher?.disconnect();
  root.watcher = new ResizeObserver(arcs);
  root.watcher.observe(root);
  return () => root.watcher.disconnect();
}
