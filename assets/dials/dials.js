// Pairs of a query or key as arrows that turn with the position. The slider turns them here, without the server; the
// position goes to the server when the slider is let go. Text enters by textContent only.

const SVG = "http://www.w3.org/2000/svg";
const TURN = 2 * Math.PI;
const CLOSE = 64; // up to here every position is a stop of the slider; then each is 3 % further

function stopsUpTo(most, wanted) {
  const stops = new Set([Math.min(wanted, most), most]);
  for (let place = 0; place <= most; place = place < CLOSE ? place + 1 : Math.ceil(place * 1.03)) stops.add(place);
  return [...stops].sort((one, other) => one - other);
}

function shape(tag, className, attributes = {}) {
  const made = document.createElementNS(SVG, tag);
  made.setAttribute("class", className);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function arrowLine(className, length) {
  return shape("line", className, { x1: 0, y1: 0, x2: length, y2: 0 });
}

function turnTo(element, radians) {
  element.setAttribute("transform", `rotate(${(-radians * 180) / Math.PI})`); // the screen's y points down
}

function sector(from, by, radius) {
  const swept = by % TURN;
  const at = (angle) => `${radius * Math.cos(angle)} ${-radius * Math.sin(angle)}`;
  return `M 0 0 L ${at(from)} A ${radius} ${radius} 0 ${swept > Math.PI ? 1 : 0} 0 ${at(from + swept)} Z`;
}

function dial(pair, longest) {
  const [x, y] = pair;
  const length = longest > 0 ? 0.3 + 0.7 * Math.sqrt(Math.hypot(x, y) / longest) : 0.3;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dial";
  button.setAttribute("role", "radio");
  const picture = shape("svg", "", { viewBox: "-1.1 -1.1 2.2 2.2", "aria-hidden": "true" });
  const after = shape("g", "");
  after.append(
    arrowLine("after", Math.max(0, length - 0.1)),
    shape("path", "tip", { d: `M ${length} 0 L ${length - 0.2} 0.11 L ${length - 0.2} -0.11 Z` }),
  );
  const before = arrowLine("before", length);
  const swept = shape("path", "swept");
  turnTo(before, Math.atan2(y, x));
  picture.append(shape("circle", "rim", { r: 1 }), swept, before, after);
  const [name, turns] = ["name", "turns"].map((className) => {
    const span = document.createElement("span");
    span.className = className;
    return span;
  });
  button.append(picture, name, turns);
  return { button, after, swept, name, turns, start: Math.atan2(y, x), length };
}

function turnsText(turns) {
  if (turns < 0.995) return `${Number((turns * 360).toPrecision(turns < 0.0278 ? 2 : 3))}°`;
  return `${turns < 9.95 ? turns.toFixed(2) : turns < 999.5 ? turns.toFixed(1) : Math.round(turns).toLocaleString("en")} turns`;
}

const drawn = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const find = (name) => parentElement.querySelector(name);
  const [box, slider, output, home] = [".dials", "input", "output", ".home"].map(find);
  const content = JSON.stringify(data.pairs);
  if (drawn.get(box)?.content !== content) {
    const longest = Math.max(...data.pairs.map(([x, y]) => Math.hypot(x, y)));
    const made = data.pairs.map((pair) => dial(pair, longest));
    drawn.set(box, { content, dials: made });
    box.replaceChildren(...made.map(({ button }) => button));
  }
  const { dials } = drawn.get(box);
  const stops = stopsUpTo(data.most, data.position);

  const turn = (position) => {
    dials.forEach(({ button, after, swept, name, turns, start, length }, pair) => {
      const angle = position * data.speeds[pair];
      turnTo(after, start + angle);
      swept.setAttribute("d", sector(start, angle, length));
      name.textContent = `pair ${pair}`;
      turns.textContent = turnsText(angle / TURN);
      button.setAttribute("aria-label", `Pair ${pair}: ${turnsText(angle / TURN)} at position ${position}`);
      button.title = `Pair ${pair}: one turn in ${(TURN / data.speeds[pair]).toLocaleString("en", { maximumFractionDigits: 1 })} positions`;
    });
    const words = position === data.own ? `${position.toLocaleString("en")}, its own` : position.toLocaleString("en");
    output.textContent = words;
    slider.setAttribute("aria-valuetext", `position ${words}`);
    home.disabled = position === data.own;
  };

  box.style.setProperty("--arrow", data.colour);
  box.setAttribute("aria-label", data.name);
  home.textContent = `Back to ${data.own.toLocaleString("en")}`;
  slider.max = stops.length - 1;
  slider.value = stops.indexOf(Math.min(data.position, data.most));
  turn(stops[slider.value]);
  slider.oninput = () => turn(stops[slider.value]);
  slider.onchange = () => setTriggerValue("moved", stops[slider.value]);
  home.onclick = () => setTriggerValue("moved", data.own);

  dials.forEach(({ button }, pair) => {
    button.setAttribute("aria-checked", String(pair === data.selected));
    button.tabIndex = pair === data.selected ? 0 : -1;
    button.onclick = () => setTriggerValue("picked", pair);
    button.onkeydown = (event) => {
      const last = dials.length - 1;
      const target = { ArrowRight: pair + 1, ArrowLeft: pair - 1, Home: 0, End: last }[event.key];
      if (target === undefined || !dials[target]) return;
      event.preventDefault();
      dials[target].button.focus();
    };
  });
}
