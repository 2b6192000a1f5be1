// One head's map: queries from the top, keys from the left. One tab stop, arrows move, Enter chooses a cell.
// data: 4 bytes header length, JSON header, then the square, row by row, as deflated little-endian uint16: the square
// root of the share of the largest value. The mark that follows says which cell is chosen and how to colour.

const LABEL_ROOM = 92;
const LABEL_FONT = 12;
const MOST_CHARACTERS = 11;

function rgb(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

function shades(names) {
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
  return new Uint16Array(await new Response(stream).arrayBuffer());
}

const COLOURS = {
  linear: { shade: (share) => share, low: () => "0", high: (top) => top },
  root: { shade: (share) => Math.sqrt(share), low: () => "0", high: (top) => `${top} (√ scale)` },
  log: { shade: (share) => (share > 0 ? Math.max(0, 1 + Math.log10(share) / 4) : 0), low: () => "1/10,000 of it or less", high: (top) => `${top} (log scale)` },
  row: { shade: (share, most) => (most > 0 ? share / most : 0), low: () => "0", high: () => "the largest of its row" },
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".map");
  const canvas = root.querySelector("canvas");
  const told = root.querySelector(".told");
  const length = new DataView(data.buffer, data.byteOffset, 4).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const n = head.rows.length;
  let mark = { row: -1, column: -1, colour: "root" };
  let cursor = { row: 0, column: 0 };
  let codes = null;
  let step = 0;
  let side = 0;

  const future = ({ row, column }) => column > row + head.ahead;
  const share = (row, column) => (codes[row * n + column] / 65535) ** 2;
  const number = (value) => (value === 0 ? "0" : value >= 0.001 ? value.toFixed(4) : value.toExponential(2));

  function tell(cell) {
    const { row, column } = cell;
    if (!codes || row < 0 || column < 0 || row >= n || column >= n) told.textContent = head.hint;
    else if (future(cell)) told.textContent = `${head.rows[row]} cannot read ${head.columns[column]}: it comes later.`;
    else told.textContent = `${head.rows[row]} ${head.verb} ${head.columns[column]}: ${number(share(row, column) * head.largest)}`;
  }

  function draw() {
    const room = root.clientWidth;
    if (!codes || room < 40) return;
    const named = head.named;
    side = named ? Math.min(widest() + 10, LABEL_ROOM, room * 0.25) : 34;
    step = Math.min(head.largest_cell, (room - side - 1) / n);
    const drawn = step * n;
    const sharp = window.devicePixelRatio || 1;
    canvas.width = Math.round((side + drawn + 1) * sharp);
    canvas.height = canvas.width;
    canvas.style.width = canvas.style.height = `${side + drawn + 1}px`;
    const style = getComputedStyle(root);
    const names = style.getPropertyValue("--st-chart-sequential-colors").split(",");
    const ramp = shades(names);
    const image = new ImageData(n, n);
    const { shade, low, high } = COLOURS[mark.colour];
    for (let row = 0; row < n; row++) {
      let most = 0;
      const seen = Math.max(0, Math.min(n, row + head.ahead + 1));
      for (let column = 0; column < seen; column++) most = Math.max(most, share(row, column));
      for (let column = 0; column < seen; column++) {
        const at = 4 * (row * n + column);
        image.data.set(ramp[Math.round(255 * Math.min(1, shade(share(row, column), most)))], at);
        image.data[at + 3] = 255;
      }
    }
    const small = document.createElement("canvas");
    small.width = small.height = n;
    small.getContext("2d").putImageData(image, 0, 0);
    const context = canvas.getContext("2d");
    context.scale(sharp, sharp);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, side, side, drawn, drawn);
    context.strokeStyle = style.getPropertyValue("--st-border-color");
    context.strokeRect(side, side, drawn, drawn);
    if (step >= 12) {
      context.beginPath();
      for (let line = 1; line < n; line++) {
        context.moveTo(side + line * step, side + Math.min(drawn, Math.max(0, (line - head.ahead) * step)));
        context.lineTo(side + line * step, side + drawn);
        context.moveTo(side, side + line * step);
        context.lineTo(side + Math.max(0, Math.min(drawn, (line + head.ahead) * step)), side + line * step);
      }
      context.stroke();
    }
    labels(context, style, named);
    const frame = ({ row, column }, line) => {
      if (row < 0 || column < 0 || row >= n || column >= n) return;
      context.lineWidth = line;
      context.strokeStyle = style.getPropertyValue("--st-primary-color");
      const grow = Math.max(0, (8 - step) / 2);
      context.strokeRect(side + column * step - grow, side + row * step - grow, step + 2 * grow, step + 2 * grow);
    };
    frame(mark, 3);
    if (root.getRootNode().activeElement === canvas) frame(cursor, 1.5);
    root.querySelector(".ramp").style.background = `linear-gradient(to right, ${names.join(",")})`;
    root.querySelector(".low").textContent = low();
    root.querySelector(".high").textContent = high(number(head.largest));
    canvas.setAttribute("aria-label", `${head.name}. Arrow keys move, Enter chooses. ${told.textContent}`);
  }

  function widest() {
    const context = canvas.getContext("2d");
    context.font = `${LABEL_FONT}px ${getComputedStyle(root).getPropertyValue("--st-code-font")}`;
    return Math.max(...[...head.row_labels, ...head.column_labels].map((text) => context.measureText(text).width));
  }

  function labels(context, style, named) {
    context.fillStyle = style.getPropertyValue("--st-text-color");
    context.textBaseline = "middle";
    context.font = `${LABEL_FONT}px ${style.getPropertyValue(named ? "--st-code-font" : "--st-font")}`;
    const every = named ? Math.ceil((LABEL_FONT + 2) / step) : Math.ceil(n / 8);
    const fit = (text) => {
      let characters = [...text];
      if (characters.length > MOST_CHARACTERS) characters = [...characters.slice(0, MOST_CHARACTERS - 1), "…"];
      while (characters.length > 1 && context.measureText(characters.join("")).width > side - 8) {
        characters = [...characters.slice(0, -2), "…"];
      }
      return characters.join("");
    };
    for (let index = 0; index < n; index += every) {
      const middle = side + (index + 0.5) * step;
      const chosenRow = index === mark.row;
      const chosenColumn = index === mark.column;
      const [down, across] = [fit(head.row_labels[index]), fit(head.column_labels[index])];
      context.globalAlpha = chosenRow ? 1 : 0.75;
      context.textAlign = "right";
      context.fillText(down, side - 6, middle);
      context.globalAlpha = chosenColumn ? 1 : 0.75;
      context.save();
      context.translate(middle, side - 6);
      if (named) context.rotate(-Math.PI / 2);
      context.textAlign = named ? "left" : "center";
      context.fillText(across, 0, named ? 0 : -6);
      context.restore();
    }
    context.globalAlpha = 1;
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - side) / step);
    const row = Math.floor((event.clientY - box.top - side) / step);
    return row >= 0 && row < n && column >= 0 && column < n ? { row, column } : null;
  }

  function pick(cell) {
    if (future(cell)) return;
    cursor = cell;
    mark = { ...mark, ...cell };
    tell(cell);
    draw();
    setTriggerValue("picked", [cell.row, cell.column]);
  }

  canvas.onmousemove = (event) => tell(under(event) ?? mark);
  canvas.onmouseleave = () => tell(mark);
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
        row: Math.min(n - 1, Math.max(0, cursor.row + move[0])),
        column: Math.min(n - 1, Math.max(0, cursor.column + move[1])),
      };
      tell(cursor);
      draw();
    }
  };

  function marked(found) {
    if (!found || found.target !== head.target) return;
    mark = found;
    cursor = { row: Math.max(0, mark.row), column: Math.max(0, mark.column) };
    tell(mark);
    draw();
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
  inflate(data.subarray(4 + length)).then((values) => {
    if (root.ticket !== ticket) return; // newer data is being drawn
    codes = values;
    tell(mark);
    draw();
    canvas.dataset.drawn = head.name;
  });
  marked(window.explorerMarks?.[head.target]);
  return () => root.release();
}
