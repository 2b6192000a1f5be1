// Readings of the logit lens, one cell for every depth and token. Text stands in the cells where it fits.
// data: 4 bytes header length, JSON header, then deflated: label numbers (uint16), shades (uint8, 0 for not read,
// else 1 to 255), shares and measures (float32), each (row, column). Text enters by textContent and fillText only.

const HEAD = 22;
const FEW = 40; // up to so many columns the cells are wide enough for text
const CELL = { narrowest: 64, widest: 150, height: 21 };
const PIXEL = { narrowest: 4, widest: 18, height: 11 };
const WIDEST_CANVAS = 16000;

function rgb(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function shades(root) {
  const names = getComputedStyle(root).getPropertyValue("--st-chart-sequential-colors").split(",");
  const stops = names.map((name) => rgb(name.trim()));
  return Array.from({ length: 256 }, (_, value) => {
    const place = (value / 255) * (stops.length - 1);
    const [low, high] = [stops[Math.floor(place)], stops[Math.ceil(place)]];
    return low.map((part, at) => Math.round(part + (high[at] - part) * (place - Math.floor(place))));
  });
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
}

function number(value) {
  if (!Number.isFinite(value)) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".lens");
  const canvas = root.querySelector("canvas");
  const [told, scroll, rowBox] = [".told", ".scroll", ".rows"].map((name) => root.querySelector(name));
  const length = new DataView(data.buffer, data.byteOffset, 4).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const [rows, columns] = [head.rows.length, head.columns.length];
  const withText = columns <= FEW;
  const size = withText ? CELL : PIXEL;
  let chosen = { row: rows - 1, column: columns - 1 };
  let cursor = chosen;
  let read = null;
  let wide = size.narrowest;

  const at = ({ row, column }) => row * columns + column;

  function words(cell) {
    const where = `${head.rows[cell.row]} · token ${head.first + cell.column} ${head.columns[cell.column]}`;
    if (!read || !read.shades[at(cell)]) return `${where}: not read yet`;
    const share = read.shares[at(cell)];
    const percent = share >= 0.001 ? `${(100 * share).toFixed(1)}%` : "<0.1%";
    const measure = head.measure ? `, ${head.measure} ${number(read.measures[at(cell)])}` : "";
    return `${where} → ${head.labels[read.names[at(cell)]]} ${percent}${measure}`;
  }

  function labelRows() {
    const every = Math.max(1, Math.ceil(16 / size.height));
    rowBox.replaceChildren(
      ...head.rows.flatMap((name, row) => {
        const far = Math.abs(row - chosen.row) >= every;
        if (row !== chosen.row && (row % every || !far)) return [];
        const span = document.createElement("span");
        span.textContent = name;
        span.className = row === chosen.row ? "chosen" : "";
        span.style.top = `${HEAD + (row + 0.5) * size.height}px`;
        return [span];
      }),
    );
  }

  function labelColumns(context, style) {
    context.font = `12px ${style.getPropertyValue("--st-code-font")}`;
    context.textAlign = "center";
    const every = withText ? 1 : Math.ceil(34 / wide);
    for (let column = 0; column < columns; column += every) {
      context.fillStyle = style.getPropertyValue(column === chosen.column ? "--st-primary-color" : "--st-text-color");
      const label = withText ? fitted(context, head.columns[column], wide - 6) : head.first + column;
      context.fillText(label, (column + 0.5) * wide, HEAD / 2);
    }
  }

  function cells(context, style) {
    const ramp = shades(root);
    context.font = `12px ${style.getPropertyValue("--st-code-font")}`;
    const gap = withText ? 1 : 0.5;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const place = row * columns + column;
        const [x, y] = [column * wide, HEAD + row * size.height];
        if (!read.shades[place]) {
          context.strokeStyle = style.getPropertyValue("--st-border-color");
          context.lineWidth = 1;
          if (withText) context.strokeRect(x + 1.5, y + 1.5, wide - 3, size.height - 3);
          continue;
        }
        const [red, green, blue] = ramp[read.shades[place]];
        context.fillStyle = `rgb(${red} ${green} ${blue})`;
        context.fillRect(x, y, wide - gap, size.height - gap);
        if (!withText) continue;
        context.fillStyle = red * 0.3 + green * 0.59 + blue * 0.11 > 140 ? "#14161c" : "#ffffff";
        context.fillText(fitted(context, head.labels[read.names[place]], wide - 8), x + wide / 2, y + size.height / 2);
      }
    }
  }

  function draw() {
    const room = scroll.clientWidth;
    if (room < 20) return;
    wide = Math.min(size.widest, Math.max(size.narrowest, Math.floor(room / columns)));
    const [width, height] = [wide * columns, HEAD + rows * size.height + 2];
    const sharp = Math.min(window.devicePixelRatio || 1, WIDEST_CANVAS / width);
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    rowBox.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(root);
    context.scale(sharp, sharp);
    context.textBaseline = "middle";
    labelColumns(context, style);
    if (read) cells(context, style);
    const frame = ({ row, column }, line) => {
      context.lineWidth = line;
      context.strokeStyle = style.getPropertyValue("--st-primary-color");
      const top = HEAD + row * size.height;
      context.strokeRect(column * wide + line / 2, top + line / 2, wide - line - 1, size.height - line - 1);
    };
    frame(chosen, 2.5);
    const focused = root.getRootNode().activeElement === canvas;
    if (focused && at(cursor) !== at(chosen)) frame(cursor, 1.5);
    labelRows();
    canvas.setAttribute("aria-label", `${head.name}. Selected: ${words(chosen)}. Arrow keys move, Enter opens.`);
  }

  function reveal({ column }) {
    const left = column * wide;
    if (left < scroll.scrollLeft) scroll.scrollLeft = left;
    if (left + wide > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = left + wide - scroll.clientWidth;
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / wide);
    const row = Math.floor((event.clientY - box.top - HEAD) / size.height);
    return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  }

  function pick(cell) {
    chosen = cursor = cell;
    draw();
    told.textContent = words(cell);
    setTriggerValue("picked", [cell.row, cell.column]);
  }

  canvas.onmousemove = (event) => (told.textContent = words(under(event) ?? chosen));
  canvas.onmouseleave = () => (told.textContent = words(chosen));
  canvas.onfocus = canvas.onblur = draw;
  canvas.onclick = (event) => {
    const cell = under(event);
    if (cell) pick(cell);
  };
  canvas.onkeydown = (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick(cursor);
    } else if (move) {
      event.preventDefault();
      cursor = {
        row: Math.min(rows - 1, Math.max(0, cursor.row + move[0])),
        column: Math.min(columns - 1, Math.max(0, cursor.column + move[1])),
      };
      draw();
      reveal(cursor);
      told.textContent = words(cursor);
    }
  };

  function marked(mark) {
    if (!mark || mark.target !== head.target) return;
    chosen = cursor = { row: mark.row, column: mark.column };
    draw();
    reveal(chosen);
    told.textContent = words(chosen);
  }

  root.release?.();
  const onMark = (event) => marked(event.detail);
  const watcher = new ResizeObserver(draw);
  watcher.observe(root);
  window.addEventListener("explorer-mark", onMark);
  root.release = () => {
    watcher.disconnect();
    window.removeEventListener("explorer-mark", onMark);
  };
  const ticket = (root.ticket = {});
  inflate(data.subarray(4 + length)).then((buffer) => {
    if (root.ticket !== ticket) return; // a newer message came while this one was unpacked
    const count = rows * columns;
    read = {
      shares: new Float32Array(buffer, 0, count),
      measures: new Float32Array(buffer, 4 * count, count),
      names: new Uint16Array(buffer, 8 * count, count),
      shades: new Uint8Array(buffer, 10 * count, count),
    };
    draw();
    marked(window.explorerMarks?.[head.target]);
    told.textContent = words(chosen);
  });
  draw();
  return root.release;
}
