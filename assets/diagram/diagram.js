// The architecture: a drawing made on the server, walked and clicked here. The page keeps its scroll: a larger drawing
// is a taller one, and only sideways it scrolls within its sheet.

const [SMALLEST, LARGEST, STEP, NARROW, STACKED] = [0.4, 3, 1.25, 450, 640];
const COPIED = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size",
  "font-weight", "text-anchor", "dominant-baseline", "paint-order",
];

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function parsed(markup) {
  const read = new DOMParser().parseFromString(markup, "image/svg+xml").documentElement;
  return document.importNode(read, true);
}

/** A copy that looks the same without this page: every colour and letter written into its elements. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const [, , width, height] = svg.viewBox.baseVal ? ["x", "y", "width", "height"].map((k) => svg.viewBox.baseVal[k]) : [];
  const copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((shown, place) => {
    const style = getComputedStyle(shown);
    const words = COPIED.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    copies[place].setAttribute("style", words);
    for (const name of ["tabindex", "aria-pressed", "aria-expanded", "role"]) copies[place].removeAttribute(name);
  });
  copy.querySelectorAll(".toggle").forEach((toggle) => toggle.remove());
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  const { x, y } = svg.viewBox.baseVal;
  for (const [name, value] of Object.entries({ x, y, width, height })) paper.setAttribute(name, value);
  paper.setAttribute("fill", pageColour(svg));
  copy.prepend(paper);
  copy.removeAttribute("style");
  copy.setAttribute("role", "img");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function pageColour(svg) {
  return getComputedStyle(svg).getPropertyValue("--st-background-color").trim() || "white";
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function exported(svg, kind, name) {
  const { text, width, height } = standalone(svg);
  const blob = new Blob([text], { type: "image/svg+xml" });
  if (kind === "svg") return save(blob, `${name}.svg`);
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  const canvas = document.createElement("canvas");
  const scale = 3;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  canvas.toBlob((png) => save(png, `${name}.png`), "image/png");
}

function setUp(frame) {
  const held = { zoom: 1, faded: new Set(), markup: "", part: "", pressed: "" };
  const sheet = frame.querySelector(".sheet");
  held.observer = new ResizeObserver(() => held.draw?.());
  held.observer.observe(sheet);
  held.listen = (event) => event.detail.target === held.target && held.mark?.(event.detail);
  return held;
}

const states = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const frame = parentElement.querySelector(".plan");
  if (!states.has(frame)) states.set(frame, setUp(frame));
  const held = states.get(frame);
  const find = (name) => frame.querySelector(name);
  const [sheet, status] = [find(".sheet"), find(".status")];
  held.target = data.target;
  for (const [name, colour] of Object.entries(data.colours)) frame.style.setProperty(`--${name}`, colour);
  find(".symbols").textContent = data.symbols;

  const buttons = () => [...sheet.querySelectorAll('[role="button"]')];
  const box = (part) => sheet.querySelector(`[data-part="${CSS.escape(part)}"]`);
  const says = (part) => box(part)?.getAttribute("aria-label") ?? data.hint;
  const rest = () => {
    status.textContent = held.part ? says(held.part) : data.hint;
    near("");
  };
  const near = (part) => {
    for (const wire of sheet.querySelectorAll(".wire")) {
      wire.classList.toggle("near", part !== "" && (wire.dataset.from === part || wire.dataset.to === part));
    }
  };
  const reach = (chosen) => buttons().forEach((each) => each.setAttribute("tabindex", each === chosen ? "0" : "-1"));
  const fade = () => {
    for (const each of sheet.querySelectorAll("[data-kind]")) {
      const kind = each.dataset.kind;
      const name = each.classList.contains("wire") ? `line-${kind}` : kind;
      each.classList.toggle("faded", held.faded.has(name));
    }
  };
  const size = () => {
    const svg = sheet.querySelector("svg");
    if (svg) svg.style.width = `${Math.min(sheet.clientWidth, svg.viewBox.baseVal.width * 1.25) * held.zoom}px`;
  };
  const zoomTo = (zoom, event) => {
    const before = sheet.querySelector("svg").getBoundingClientRect();
    held.zoom = Math.min(LARGEST, Math.max(SMALLEST, zoom));
    size();
    if (!event) return;
    const share = (event.clientX - before.left) / before.width;
    const after = sheet.querySelector("svg").getBoundingClientRect();
    sheet.scrollLeft += after.left + share * after.width - event.clientX;
  };
  const whole = () => {
    const seen = sheet.querySelector("svg").getBoundingClientRect();
    zoomTo(held.zoom === 1 ? Math.min(1, ((window.innerHeight - 40) / seen.height) * held.zoom) : 1);
  };
  const toggle = (block) => setTriggerValue("toggled", block);
  const pick = (part) => {
    held.mark({ part, quiet: true });
    setTriggerValue("picked", part);
    if (window.innerWidth <= STACKED) {
      const panel = () => document.querySelector(".st-key-part-panel")?.scrollIntoView({ block: "start" });
      setTimeout(panel, 400); // on a phone the panel stands below the drawing
    }
  };
  const act = (button) => (button.dataset.part ? pick(button.dataset.part) : toggle(button.dataset.toggle));

  held.mark = ({ part, quiet = false }) => {
    const moved = part !== held.part;
    held.part = part;
    for (const each of sheet.querySelectorAll(".box")) {
      each.setAttribute("aria-pressed", String(each.dataset.part === part));
    }
    const focused = buttons().includes(parentElement.activeElement) ? parentElement.activeElement : null;
    reach(focused ?? box(part) ?? buttons()[0]);
    rest();
    const chosen = new URLSearchParams(window.location.search).has("part"); // a page that is just opened starts at its top
    if (moved && chosen && !quiet) box(part)?.querySelector(".body").scrollIntoView({ block: "nearest" });
  };

  held.draw = () => {
    const narrow = sheet.clientWidth > 0 && sheet.clientWidth < NARROW;
    const markup = narrow ? data.narrow : data.wide;
    frame.classList.toggle("narrow", narrow);
    if (markup !== held.markup) {
      const last = held.focus;
      held.markup = markup;
      sheet.replaceChildren(parsed(markup));
      for (const each of buttons()) {
        each.onclick = () => {
          reach(each);
          act(each);
        };
        each.onfocus = () => {
          held.focus = each.dataset.part ?? `toggle-${each.dataset.toggle}`;
          status.textContent = each.getAttribute("aria-label");
          near(each.dataset.part ?? "");
        };
        each.onblur = rest;
        each.onpointerenter = () => {
          status.textContent = each.getAttribute("aria-label");
          near(each.dataset.part ?? "");
        };
        each.onpointerleave = rest;
      }
      fade();
      held.mark({ part: window.explorerMarks?.[data.target]?.part ?? held.part, quiet: held.part !== "" });
      if (held.toggled) {
        const same = sheet.querySelector(`[data-toggle="${CSS.escape(held.toggled)}"]`);
        if (last === `toggle-${held.toggled}`) same?.focus({ preventScroll: true });
        held.toggled = "";
      }
    }
    size();
  };

  sheet.onkeydown = (event) => {
    const all = buttons();
    const place = all.indexOf(event.target.closest('[role="button"]'));
    const next = {
      ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1,
      Home: 0, End: all.length - 1,
    }[event.key];
    if (next !== undefined) {
      const goal = all[(next + all.length) % all.length];
      reach(goal);
      goal.focus();
      (goal.querySelector(".body") ?? goal).scrollIntoView({ block: "nearest" });
    } else if ((event.key === "Enter" || event.key === " ") && place >= 0) {
      held.toggled = all[place].dataset.toggle ?? "";
      act(all[place]);
    } else if (event.key === "+" || event.key === "=") zoomTo(held.zoom * STEP);
    else if (event.key === "-") zoomTo(held.zoom / STEP);
    else if (event.key === "0") whole();
    else return;
    event.preventDefault();
  };
  sheet.onwheel = (event) => {
    if (!event.ctrlKey) return; // a plain wheel belongs to the page
    event.preventDefault();
    zoomTo(held.zoom * (event.deltaY < 0 ? STEP : 1 / STEP), event);
  };
  const tools = {
    in: () => zoomTo(held.zoom * STEP),
    out: () => zoomTo(held.zoom / STEP),
    whole,
    svg: () => exported(sheet.querySelector("svg"), "svg", data.file),
    png: () => exported(sheet.querySelector("svg"), "png", data.file),
  };
  for (const button of frame.querySelectorAll(".tools button")) button.onclick = tools[button.dataset.do];

  find(".legend").replaceChildren(
    ...data.legend.map(({ name, label, line }) => {
      const button = element("button", "");
      button.type = "button";
      const sign = element("i", line ? `line ${name.replace("line-", "")}` : name);
      button.append(sign, element("span", "", label));
      button.setAttribute("aria-pressed", String(!held.faded.has(name)));
      button.onclick = () => {
        held.faded.has(name) ? held.faded.delete(name) : held.faded.add(name);
        button.setAttribute("aria-pressed", String(!held.faded.has(name)));
        fade();
      };
      return button;
    }),
  );
  held.draw();
  window.addEventListener("explorer-mark", held.listen);
  return () => window.removeEventListener("explorer-mark", held.listen);
}
