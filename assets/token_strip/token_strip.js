// Pieces of a text as chips: one tab stop, arrows move, Enter selects. Text enters by textContent only.
// Of a long text only a part is drawn; data.first is the place of its first chip.

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
  const place = data.first + index;
  const under = [data.captioned, data.captions[index]].filter(Boolean).join(" ");
  const kind = data.kinds[index];
  button.type = "button";
  button.className = data.joined[index] ? "chip joined" : "chip";
  button.setAttribute("role", "radio");
  button.setAttribute("aria-label", [`${data.word} ${place}: ${data.labels[index]}`, under, kind].filter(Boolean).join(", "));
  button.title = [kind, `${data.word.toLowerCase()} ${place}`, under].filter(Boolean).join(" · ");
  if (data.coloured) button.dataset.kind = kind;
  const caption = document.createElement("span");
  caption.className = "id";
  caption.textContent = data.captions[index];
  button.append(visibleText(data.labels[index]), caption);
  return button;
}

function legendEntry(kind) {
  const entry = document.createElement("li");
  entry.dataset.kind = kind;
  entry.textContent = kind;
  return entry;
}

function number(value) {
  return value.toLocaleString("en");
}

function turns(more, data, drawn, pick) {
  const after = data.count - data.first - drawn;
  const [status, earlier, later] = more.children;
  more.hidden = drawn === data.count;
  status.textContent = `${data.word}s ${number(data.first)} to ${number(data.first + drawn - 1)} of ${number(data.count)} are drawn.`;
  earlier.hidden = data.first === 0;
  earlier.textContent = `← ${number(data.first)} earlier`;
  earlier.onclick = () => pick(data.first - 1);
  later.hidden = after === 0;
  later.textContent = `${number(after)} later →`;
  later.onclick = () => pick(data.first + drawn);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector(".strip");
  const content = JSON.stringify([data.labels, data.captions, data.kinds, data.joined, data.coloured, data.first]);
  if (strip.dataset.content !== content) {
    strip.dataset.content = content;
    strip.replaceChildren(...data.labels.map((_, index) => chip(data, index)));
  }
  strip.setAttribute("aria-label", data.name);
  const chips = [...strip.children];
  const chosen = data.selected - data.first;
  const tabStop = Math.max(0, chosen);
  const pick = (place) => setTriggerValue("picked", place);
  chips.forEach((button, index) => {
    button.setAttribute("aria-checked", String(index === chosen));
    button.tabIndex = index === tabStop ? 0 : -1;
    button.onclick = () => pick(data.first + index);
    button.onkeydown = (event) => {
      const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: chips.length - 1 }[event.key];
      if (target === undefined || !chips[target]) return;
      event.preventDefault();
      chips[target].focus();
    };
  });
  const selected = chips[chosen];
  if (selected && strip.scrollHeight > strip.clientHeight) {
    const top = selected.offsetTop - strip.offsetTop;
    if (top < strip.scrollTop || top + selected.offsetHeight > strip.scrollTop + strip.clientHeight) {
      strip.scrollTop = top - strip.clientHeight / 2;
    }
  }
  const kinds = data.coloured ? [...new Set(data.kinds)] : [];
  parentElement.querySelector(".legend").replaceChildren(...kinds.map(legendEntry));
  turns(parentElement.querySelector(".more"), data, chips.length, pick);
}
