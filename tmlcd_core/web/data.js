// Data inside the page: JSON, and bytes that are deflated and in base64.

export function json(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text); // browsers of 2025
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) found[i] = letters.charCodeAt(i);
  return found;
}

export async function bytes(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("the browser is too old: use one of 2023 or later");
  try {
    const stream = new Blob([fromBase64(text.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("its data are damaged");
  }
}

// Features of a pool: a list of rows (Float32Array) for each origin.
function rowsOf(pool, body) {
  const d = pool.features;
  const floats = pool.levels ? fromLevels(pool.levels, body, d) : new Float32Array(body.buffer, body.byteOffset, body.length / 4);
  const found = new Map();
  let start = 0;
  for (const { word, effect, strength, count } of pool.origins) {
    const rows = Array.from({ length: count }, (_, i) => floats.subarray((start + i) * d, (start + i + 1) * d));
    found.set(JSON.stringify([word, effect, strength]), rows);
    start += count;
  }
  return found;
}

// Features of one byte each, as in the shipped pack: differences of neighbours in frequency, scaled per feature.
function fromLevels({ shape: [maps, height, width], low, step }, body, d) {
  const floats = new Float32Array(body.length);
  let from = 0;
  for (let sample = 0; sample < body.length; sample += d)
    for (let map = 0; map < maps; map++)
      for (let x = 0; x < width; x++)
        for (let y = 0, level = 0; y < height; y++) {
          level = (level + body[from++]) & 255;
          const place = (map * height + y) * width + x;
          floats[sample + place] = Math.fround(level * step[place]) + low[place];
        }
  return floats;
}

// The feature pool of stream.js.
export function makePool(pool, body) {
  const found = rowsOf(pool, body);
  if (pool.recorded) {
    const rows = [...found.values()][0];
    return { ...pool, recorded: { ...pool.recorded, rows } };
  }
  return { ...pool, rows: ({ word, effect, strength }) => found.get(JSON.stringify([word, effect, strength])) };
}
