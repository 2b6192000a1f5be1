// The tokens of a text as chips: one tab stop, arrows move, Enter selects. Text enters by textContent only.

const MARKS = new Set(["·", "↵", "⇥"]);

function visibleText(label) {
  const text = document.createElement("span");
  text.className = "text";
  for (const part of label.split(/([·↵⇥]+)/)) {
    if (!part) continue;
    const span = document.createElement("span");
    if (MARKS.has(part[0])) span.className = "mark";
    span.textContent = part;
    text.append(span);
  }
  return text;
}

function chip(data, index) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = data.joined[index] ? "chip joined" : "chip";
  button.setAttribute("role", "radio");
  button.setAttribute("aria-label", `Token ${index}: ${data.labels[index]}, id ${data.ids[index]}, ${data.kinds[index]}`);
  button.title = `${data.kinds[index]} · token ${index} · id ${data.ids[index]}`;
  if (data.coloured) button.dataset.kind = data.kinds[index];
  const id = document.createElement("span");
  id.className = "id";
  id.textContent = data.ids[index];
  button.append(visibleText(data.labels[index]), id);
  return button;
}

function legendEntry(kind) {
  const entry = document.createElement("li");
  entry.dataset.kind = kind;
  entry.textContent = kind;
  return entry;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector(".strip");
  const content = JSON.stringify([data.labels, data.ids, data.kinds, data.joined, data.coloured]);
  if (strip.dataset.content !== content) {
    strip.dataset.content = content;
    strip.replaceChildren(...data.labels.map((_, index) => chip(data, index)));
  }
  strip.setAttribute("aria-label", data.name);
  const chips = [...strip.children];
  const tabStop = Math.max(0, data.selected);
  chips.forEach((button, index) => {
    button.setAttribute("aria-checked", String(index === data.selected));
    button.tabIndex = index === tabStop ? 0 : -1;
    button.onclick = () => setTriggerValue("picked", index);
    button.onkeydown = (event) => {
      const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: chips.length - 1 }[event.key];
      if (target === undefined || !chips[target]) return;
      event.preventDefault();
      chips[target].focus();
    };
  });
  const selected = chips[data.selected];
  if (selected && strip.scrollHeight > strip.clientHeight) {
    const top = selected.offsetTop - strip.offsetTop;
    if (top < strip.scrollTop || top + selected.offsetHeight > strip.scrollTop + strip.clientHeight) {
      strip.scrollTop = top - strip.clientHeight / 2;
    }
  }
  const kinds = data.coloured ? [...new Set(data.kinds)] : [];
  parentElement.querySelector(".legend").replaceChildren(...kinds.map(legendEntry));
  parentElement.querySelector(".more").textContent = data.more;
}
