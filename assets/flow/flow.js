// The way of a prompt in five stages. Every row is one token; text enters by textContent only.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function row(token, ...content) {
  if (token === null) return element("div", "row gap", "⋮");
  const made = element("div", token.last ? "row last" : "row");
  made.append(...content);
  return made;
}

function strip(values, colours) {
  const canvas = document.createElement("canvas");
  canvas.width = values.length;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  values.forEach((value, x) => {
    context.globalAlpha = Math.abs(value) / 100;
    context.fillStyle = value < 0 ? colours.negative : colours.positive;
    context.fillRect(x, 0, 1, 1);
  });
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

function line(values, colour) {
  const canvas = element("canvas", "line");
  const [width, height] = [220, 44];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  context.strokeStyle = colour;
  context.lineWidth = 3.5;
  context.lineJoin = "round";
  context.beginPath();
  values.forEach((value, at) => {
    context.lineTo(3 + ((width - 6) * at) / (values.length - 1), height - 4 - ((height - 8) * value) / 100);
  });
  context.stroke();
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

function stage(entry, colour, setTriggerValue, rows) {
  const card = element("div", "stage");
  card.setAttribute("role", "listitem");
  card.style.setProperty("--stage", colour);
  const title = element("button", "open", entry.title);
  title.type = "button";
  title.onclick = () => setTriggerValue("opened", entry.page);
  card.append(title, element("p", "about", entry.about), ...rows);
  return card;
}

let before = [];

export default function ({ data, parentElement, setTriggerValue }) {
  const colours = data.colours;
  const tokens = data.tokens;
  const labels = data.everyLabel;
  const grown = labels.length === before.length + 1 && before.every((label, at) => label === labels[at]);
  before = labels;

  const names = tokens.map((token) => {
    if (!token) return row(token);
    const made = row(token, element("span", "label", token.label), element("span", "number", token.id));
    if (grown && token.last) made.classList.add("arrived");
    return made;
  });
  const strips = tokens.map((token) => row(token, token && strip(token.embedding, colours)));
  const lines = tokens.map((token) => {
    if (!token) return row(token);
    return row(token, line(token.lengths, colours.blocks), element("span", "number", token.length));
  });
  const widest = Math.max(...data.candidates.map((each) => each.p), 1e-9);
  const bars = data.candidates.map((each) => {
    const bar = element("span", "bar");
    bar.style.width = `${Math.max(2, (46 * each.p) / widest)}px`;
    return row({ last: each.drawn }, element("span", "label", each.label), bar, element("span", "number", each.share));
  });
  const drawn = [element("div", "drawn", data.drawn.label), element("div", "number", data.drawn.about)];
  const [tokenize, embed, blocks, unembed, sample] = data.stages;
  parentElement.querySelector(".flow").replaceChildren(
    stage(tokenize, colours.muted, setTriggerValue, names),
    stage(embed, colours.embedding, setTriggerValue, strips),
    stage(blocks, colours.blocks, setTriggerValue, lines),
    stage(unembed, colours.embedding, setTriggerValue, bars),
    stage(sample, colours.drawn, setTriggerValue, drawn),
  );
}
