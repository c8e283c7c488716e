// SplitMix64 random numbers: the sequences of tmlcd_core/draws.py.

const MASK = (1n << 64n) - 1n;
const GAMMA = 0x9e3779b97f4a7c15n;
export const CLASSES = 1n;
export const ORDER = 2n;
export const MEDIA = 3n;

function mix(value) {
  value = ((value ^ (value >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  value = ((value ^ (value >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return value ^ (value >> 31n);
}

export class Draws {
  constructor(seed, purpose) {
    this.state = (mix(BigInt(seed)) + purpose) & MASK;
  }

  integers(n) {
    const found = new BigUint64Array(n);
    for (let i = 0; i < n; i++) found[i] = mix((this.state = (this.state + GAMMA) & MASK));
    return found;
  }

  uniform(n) {
    return Float64Array.from(this.integers(n), (value) => Number(value >> 11n) * 2 ** -53);
  }

  permutation(n) {
    const keys = this.integers(n);
    const order = Array.from({ length: n }, (_, i) => i);
    return order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
  }

  shuffled(items) {
    return this.permutation(items.length).map((i) => items[i]);
  }
}
