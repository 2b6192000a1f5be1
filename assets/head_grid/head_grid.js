// Small square pictures in rows and columns, drawn as pixels of one canvas. One tab stop, arrows move, Enter opens.
// data: 4 bytes header length, JSON header, then the pictures (row, column, y, x) as deflated bytes.

const BETWEEN = 2;
const LEFT = 26;
const BELOW = 20;

function rgb(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

function shades(root) {
  const names = getComputedStyle(root).getPropertyValue("--st-chart-sequential-colors").split(",");
  const stops = names.map((name) => rgb(name.trim()));
  return Array.from({ length: 256 }, (_, value) => {
    const place = (value / 255) * (stops.length - 1);
    const low = stops[Math.floor(place)];
    const high = stops[Math.ceil(place)];
    return [0, 1, 2].map((part) => low[part] + (high[part] - low[part]) * (place - Math.floor(place)));
  });
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function picture(pixels, start, size, ramp) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  for (let i = 0; i < size * size; i++) {
    image.data.set(ramp[pixels[start + i]], 4 * i);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".grid");
  const canvas = root.querySelector("canvas");
  const told = root.querySelector(".told");
  const length = new DataView(data.buffer, data.byteOffset, 4).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const { rows, columns, size } = head;
  let chosen = { row: -1, column: -1 };
  let cursor = { row: 0, column: 0 };
  let pictures = null;
  let step = 0;

  const words = ({ row, column }) =>
    [
      head.column_name && `${head.column_name} ${head.first_column + column}`,
      head.row_name && `${head.row_name} ${head.first_row + row}`,
    ].filter(Boolean).join(" · ");

  function tell(cell) {
    told.textContent = words(cell);
  }

  function draw() {
    const left = head.row_name ? LEFT : 0;
    const below = head.column_name ? BELOW : 0;
    const room = root.clientWidth - left;
    if (!pictures || room < 20) return;
    step = Math.min(head.largest, room / columns, head.tallest / rows);
    const width = left + step * columns;
    const height = step * rows + below;
    const sharp = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(root);
    context.scale(sharp, sharp);
    context.imageSmoothingEnabled = step - BETWEEN < size;
    const between = step > 10 ? BETWEEN : 1;
    pictures.forEach((image, index) => {
      const x = left + (index % columns) * step;
      const y = Math.floor(index / columns) * step;
      context.drawImage(image, x + between / 2, y + between / 2, step - between, step - between);
    });
    context.fillStyle = style.getPropertyValue("--st-text-color");
    context.globalAlpha = 0.75;
    context.font = `12px ${style.getPropertyValue("--st-font")}`;
    context.textBaseline = "middle";
    const every = (room) => [1, 2, 5, 10, 20].find((count) => count * step >= room) ?? 20;
    if (head.row_name) {
      context.textAlign = "right";
      for (let row = 0; row < rows; row += every(13)) context.fillText(head.first_row + row, LEFT - 6, (row + 0.5) * step);
    }
    if (head.column_name) {
      context.textAlign = "center";
      for (let column = 0; column < columns; column += every(20)) {
        context.fillText(head.first_column + column, left + (column + 0.5) * step, rows * step + BELOW / 2 + 1);
      }
    }
    context.globalAlpha = 1;
    const frame = ({ row, column }, line) => {
      context.lineWidth = line;
      context.strokeStyle = style.getPropertyValue("--st-primary-color");
      context.strokeRect(left + column * step + line / 2, row * step + line / 2, step - line, step - line);
    };
    if (chosen.row >= 0) frame(chosen, 3);
    if (document.activeElement === canvas || root.getRootNode().activeElement === canvas) frame(cursor, 1.5);
    canvas.setAttribute("aria-label", `${head.name}. Selected: ${words(chosen)}. Arrow keys move, Enter opens.`);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const left = head.row_name ? LEFT : 0;
    const column = Math.floor((event.clientX - box.left - left) / step);
    const row = Math.floor((event.clientY - box.top) / step);
    return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  }

  function pick(cell) {
    chosen = cursor = cell;
    draw();
    tell(cell);
    setTriggerValue("picked", [cell.row, cell.column]);
  }

  canvas.onmousemove = (event) => tell(under(event) ?? chosen);
  canvas.onmouseleave = () => tell(chosen);
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
      tell(cursor);
    }
  };

  function marked(mark) {
    if (!mark || mark.target !== head.target) return;
    chosen = cursor = { row: mark.row, column: mark.column };
    draw();
    tell(chosen);
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
  inflate(data.subarray(4 + length)).then((pixels) => {
    if (root.ticket !== ticket) return; // newer data is being drawn
    const ramp = shades(root);
    pictures = Array.from({ length: rows * columns }, (_, index) => picture(pixels, index * size * size, size, ramp));
    draw();
    canvas.dataset.drawn = head.name;
  });
  marked(window.explorerMarks?.[head.target]);
  return () => root.release();
}
