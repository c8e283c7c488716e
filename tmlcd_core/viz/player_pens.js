// Pens of the player: canvas and SVG with one interface.

const SVG = "http://www.w3.org/2000/svg";

class CanvasPen {
  constructor(context, font) {
    this.context = context;
    this.font = font;
  }
  line(points, { stroke, width = 1, dash = [], alpha = 1 }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.lineJoin = "round";
    c.setLineDash(dash);
    c.beginPath();
    this.trace(points);
    c.stroke();
    c.restore();
  }
  area(points, { fill, alpha = 1 }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.fillStyle = fill;
    c.beginPath();
    this.trace(points);
    c.closePath();
    c.fill();
    c.restore();
  }
  trace(points) {
    let pen = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) pen = false;
      else if (pen) this.context.lineTo(points[i], points[i + 1]);
      else {
        this.context.moveTo(points[i], points[i + 1]);
        pen = true;
      }
    }
  }
  text(x, y, text, { fill, size = 12, align = "left", bold = false }) {
    const c = this.context;
    c.fillStyle = fill;
    c.font = `${bold ? 600 : 400} ${size}px ${this.font}`;
    c.textAlign = align;
    c.textBaseline = "alphabetic";
    c.fillText(text, x, y);
  }
  within(x, y, width, height, draw) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

class SvgPen {
  constructor(width, height, font) {
    this.svg = document.createElementNS(SVG, "svg");
    this.top = this.svg;
    this.add("title", {});
    this.set(this.svg, { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": font });
    this.clips = 0;
  }
  set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  add(tag, attributes) {
    return this.top.appendChild(this.set(document.createElementNS(SVG, tag), attributes));
  }
  path(points, close) {
    let d = "";
    let pen = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) pen = false;
      else {
        d += `${pen ? "L" : "M"}${points[i].toFixed(1)} ${points[i + 1].toFixed(1)}`;
        pen = true;
      }
    }
    return d + (close ? "Z" : "");
  }
  line(points, { stroke, width = 1, dash = [], alpha = 1 }) {
    this.add("path", {
      d: this.path(points), fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round",
      "stroke-dasharray": dash.join(" ") || "none", "stroke-opacity": alpha,
    });
  }
  area(points, { fill, alpha = 1 }) {
    this.add("path", { d: this.path(points, true), fill, "fill-opacity": alpha });
  }
  text(x, y, text, { fill, size = 12, align = "left", bold = false }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const weight = bold ? 600 : 400;
    this.add("text", { x, y, fill, "font-size": size, "text-anchor": anchor, "font-weight": weight }).textContent = text;
  }
  within(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    const clip = this.add("clipPath", { id });
    clip.appendChild(this.set(document.createElementNS(SVG, "rect"), { x, y, width, height }));
    const outer = this.top;
    this.top = this.add("g", { "clip-path": `url(#${id})` });
    draw();
    this.top = outer;
  }
}

