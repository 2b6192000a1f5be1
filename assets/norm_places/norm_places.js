// Where a norm can stand around a sub-layer: one small diagram each, flowing from top to bottom.

const SVG = "http://www.w3.org/2000/svg";
const [STREAM_X, BRANCH_X, BOX_WIDTH, BOX_HEIGHT] = [46, 152, 92, 25];
const [TOP, SPLIT, JOIN, BOTTOM] = [8, 26, 164, 216];

function shape(tag, className, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  made.setAttribute("class", className);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

function box(label, x, y, width = BOX_WIDTH) {
  const className = label === "norm" ? "norm" : "sub";
  const corner = { x: x - width / 2, y: y - BOX_HEIGHT / 2, width, height: BOX_HEIGHT, rx: 6 };
  return [shape("rect", className, corner), shape("text", "", { x, y }, label)];
}

function diagram(place) {
  const picture = shape("svg", "", { viewBox: "0 0 212 224", role: "img", "aria-label": place.summary });
  const broken = place.after.length > 0;
  const step = (JOIN - SPLIT) / (place.branch.length + 1);
  picture.append(
    shape("path", broken ? "stream broken" : "stream", { d: `M ${STREAM_X} ${TOP} V ${BOTTOM}` }),
    shape("path", "branch", { d: `M ${STREAM_X} ${SPLIT} H ${BRANCH_X} V ${JOIN} H ${STREAM_X + 14}` }),
    shape("path", "tip", { d: `M ${STREAM_X + 11} ${JOIN} l 9 -4.5 v 9 Z` }),
    ...place.branch.flatMap((label, index) => box(label, BRANCH_X, SPLIT + step * (index + 1))),
    shape("circle", "", { cx: STREAM_X, cy: JOIN, r: 10.5 }),
    shape("text", "", { x: STREAM_X, y: JOIN }, "+"),
    ...place.after.flatMap((label) => box(label, STREAM_X, JOIN + 31, 66)),
  );
  return picture;
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function card(place) {
  const figure = document.createElement("figure");
  figure.className = place.here ? "here" : "";
  const title = element("h4", "", place.title);
  if (place.here) title.append(element("small", "", "runs here"));
  figure.append(
    title,
    diagram(place),
    element("code", "", place.formula),
    element("p", "", place.gradient),
    element("p", "users", place.users),
  );
  return figure;
}

export default function ({ data, parentElement }) {
  const places = parentElement.querySelector(".places");
  places.style.setProperty("--residual", data.residual);
  places.style.setProperty("--attention", data.attention);
  places.replaceChildren(...data.places.map(card));
}
