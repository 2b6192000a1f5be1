// A row or a small matrix of signed numbers as pixels. Text enters by textContent only.
// Positive is dark and negative light on a light page, the other way round on a dark one: signs differ in grey, too.

const LIGHT = { plus: [22, 74, 160], minus: [232, 130, 30], nil: [255, 255, 255] };
const DARK = { plus: [150, 196, 255], minus: [196, 88, 24], nil: [15, 16, 23] };
const LABEL_HEIGHT = 15;

function decode(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function isDark(element) {
  const [red, green, blue] = (getComputedStyle(element).color.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return red * 0.3 + green * 0.6 + blue * 0.1 > 128; // light letters stand on a dark page
}

function mixed(palette, share) {
  const target = share < 0 ? palette.minus : palette.plus;
  const weight = Math.min(1, Math.abs(share));
  return palette.nil.map((channel, place) => Math.round(channel + (target[place] - channel) * weight));
}

function shareOf(value, data) {
  if (data.scale === "log") {
    return value > 0 ? 0.08 + 0.92 * Math.min(1, Math.log(value / data.low) / (Math.log(data.limit / data.low) || 1)) : 0;
  }
  const share = (value - data.middle) / data.limit;
  return data.scale === "root" ? Math.sign(share) * Math.sqrt(Math.min(1, Math.abs(share))) : share;
}

function strongest(values, from, to, middle) {
  let best = values[from];
  for (let place = from + 1; place < to; place += 1) {
    if (Math.abs(values[place] - middle) > Math.abs(best - middle)) best = values[place];
  }
  return best;
}

function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return size !== 0 && size < 0.001 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

function paint(canvas, values, data, dark) {
  const [rows, columns] = data.shape;
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const cell = Math.max(1, Math.round(data.height * ratio));
  canvas.width = width;
  canvas.height = cell * rows;
  const context = canvas.getContext("2d");
  const line = context.createImageData(width, 1);
  const palette = dark ? DARK : LIGHT;
  const gap = rows > 1 && data.height >= 8 ? 1 : 0;
  for (let row = 0; row < rows; row += 1) {
    for (let x = 0; x < width; x += 1) {
      const from = Math.floor((x * columns) / width);
      const to = Math.max(from + 1, Math.floor(((x + 1) * columns) / width)); // narrow screens: no peak is lost
      const value = strongest(values, row * columns + from, row * columns + to, data.middle);
      const [red, green, blue] = mixed(palette, shareOf(value, data));
      line.data.set([red, green, blue, Number.isFinite(value) ? 255 : 0], x * 4);
    }
    for (let y = 0; y < cell - gap; y += 1) context.putImageData(line, 0, row * cell + y);
  }
}

function rowLabels(parent, data) {
  const every = Math.max(1, Math.ceil(LABEL_HEIGHT / data.height));
  const spans = data.rows.flatMap((label, row) => {
    const chosen = row === data.selected[0];
    const crowded = !chosen && data.selected[0] >= 0 && Math.abs(row - data.selected[0]) < every;
    if (!chosen && (row % every || crowded)) return [];
    const span = document.createElement("span");
    span.textContent = label;
    span.title = label;
    span.className = chosen ? "chosen" : "";
    span.style.top = `${(row + 0.5) * data.height}px`;
    return [span];
  });
  parent.replaceChildren(...spans);
  parent.style.height = `${data.rows.length * data.height}px`;
}

function columnMarks(parent, data, width) {
  parent.replaceChildren();
  const taken = [];
  for (const [column, label] of data.marks) {
    const span = document.createElement("span");
    span.textContent = label;
    parent.append(span);
    const foot = ((column + 0.5) / data.shape[1]) * width;
    const wide = span.offsetWidth;
    const left = Math.min(Math.max(0, foot - wide / 2), Math.max(0, width - wide));
    if (taken.some(([start, end]) => left < end + 8 && left + wide > start - 8)) {
      span.remove(); // the earlier mark is the more important one
      continue;
    }
    taken.push([left, left + wide]);
    span.style.left = `${left}px`;
    span.style.setProperty("--foot", `${foot - left}px`);
  }
}

function setUp(parent) {
  const held = { cell: [-1, -1] };
  new ResizeObserver(() => held.draw?.()).observe(parent.querySelector(".field"));
  return held;
}

const states = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const find = (name) => parentElement.querySelector(name);
  const [frame, field, canvas, cursor, readout] = [".frame", ".field", "canvas", ".cursor", ".readout"].map(find);
  if (!states.has(frame)) states.set(frame, setUp(parentElement));
  const held = states.get(frame);
  const values = decode(data.values);
  const [rows, columns] = data.shape;

  const words = (row, column) => {
    const where = [data.rows[row], `${data.column} ${data.columns[column] ?? column * data.block}`].filter(Boolean);
    return `${where.join(" · ")}: ${number(values[row * columns + column])}${data.unit}`;
  };
  const mark = (row, column) => {
    const shown = row >= 0 && row < rows && column < columns;
    cursor.style.display = shown ? "block" : "none";
    if (!shown) return;
    const wide = column < 0 ? field.clientWidth : Math.max(field.clientWidth / columns, 3);
    cursor.style.width = `${wide}px`;
    cursor.style.left = `${column < 0 ? 0 : (column / columns) * field.clientWidth}px`;
    cursor.style.top = `${row * data.height}px`;
    cursor.style.height = `${data.height}px`;
  };
  const rest = () => {
    mark(...data.selected);
    readout.textContent = data.hint;
  };
  const show = (row, column) => {
    held.cell = [row, column];
    mark(row, column);
    readout.textContent = words(row, column);
  };
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (share, count) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return [
      place((event.clientY - box.top) / box.height, rows),
      place((event.clientX - box.left) / box.width, columns),
    ];
  };

  held.draw = () => {
    const dark = isDark(frame);
    paint(canvas, values, data, dark);
    canvas.style.height = `${rows * data.height}px`;
    const palette = dark ? DARK : LIGHT;
    const shares = data.scale === "log" ? [0.08, 0.54, 1] : [-1, -0.5, 0, 0.5, 1];
    const stops = shares.map((share) => `rgb(${mixed(palette, share).join(" ")})`);
    frame.style.setProperty("--ramp", `linear-gradient(to right, ${stops.join(", ")})`);
    columnMarks(find(".marks"), data, field.clientWidth);
    rest();
  };
  frame.style.setProperty("--gutter", `${data.gutter}px`);
  frame.classList.toggle("picks", data.picks);
  rowLabels(find(".rows"), data);
  find(".low").textContent = number(data.scale === "log" ? data.low : data.middle - data.limit);
  find(".high").textContent = number(data.middle + data.limit);
  field.tabIndex = 0;
  field.setAttribute("role", "application");
  field.setAttribute("aria-roledescription", "grid of numbers");
  field.setAttribute("aria-label", data.name);
  held.draw();

  const pick = () => data.picks && setTriggerValue("picked", held.cell);
  canvas.onpointermove = (event) => show(...under(event));
  canvas.onpointerleave = rest;
  canvas.onclick = (event) => {
    show(...under(event));
    pick();
  };
  field.onkeydown = (event) => {
    const [row, column] = held.cell[0] < 0 ? data.selected.map((place) => Math.max(0, place)) : held.cell;
    const next = {
      ArrowRight: [row, column + 1],
      ArrowLeft: [row, column - 1],
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      Home: [row, 0],
      End: [row, columns - 1],
    }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      held.cell = [row, column];
      pick();
    } else if (next) {
      event.preventDefault();
      show(Math.min(rows - 1, Math.max(0, next[0])), Math.min(columns - 1, Math.max(0, next[1])));
    }
  };
  field.onblur = rest;
}
