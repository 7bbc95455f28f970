"use strict";

// Everything here is exact: probabilities are pairs of whole numbers, and a choice is made by comparing whole numbers.
// Bytes come from a secret of 32 random bytes (crypto.getRandomValues) through HMAC-SHA256, written out here because a page
// opened from a file, or over plain http, is given no crypto.subtle. The same in Python: tacit/publish/local/randomizers/permanent.py.

const encoder = new TextEncoder();
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const joined = (...parts) => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
};

// ---- SHA-256 and HMAC (FIPS 180-4, RFC 2104) ------------------------------------------------------------------------------

// The first 32 bits after the point of the square (cube) roots of the first primes, found by whole numbers alone.
function rootBits(prime, power) {
  const wanted = BigInt(prime) << BigInt(32 * power);
  let low = 0n;
  let high = BigInt(prime) << 32n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(power) <= wanted) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}

const PRIMES = Array.from({ length: 310 }, (_, number) => number + 2)
  .filter((number) => { for (let by = 2; by * by <= number; by++) if (number % by === 0) return false; return true; })
  .slice(0, 64);
const START = PRIMES.slice(0, 8).map((prime) => rootBits(prime, 2));
const ROUNDS = PRIMES.map((prime) => rootBits(prime, 3));
const turned = (word, by) => (word >>> by) | (word << (32 - by));

function sha256(message) {
  const length = ((message.length + 9 + 63) >> 6) << 6;
  const padded = joined(message, Uint8Array.of(0x80), new Uint8Array(length - message.length - 1));
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(length - 4, (message.length << 3) >>> 0);
  const state = Uint32Array.from(START);
  for (let at = 0; at < length; at += 64) mix(state, view, at);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => digest.setUint32(4 * index, word));
  return new Uint8Array(digest.buffer);
}

function mix(state, view, at) {
  const words = new Uint32Array(64);
  for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15], late = words[i - 2];
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16] + first + words[i - 7] + second;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const high = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i];
    const low = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [a, b, c, d, e, f, g, h] = [(high + low) >>> 0, a, b, c, (d + high) >>> 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] += word));
}

function hmac(key, message) {
  const block = joined(key.length > 64 ? sha256(key) : key, new Uint8Array(64)).slice(0, 64);
  const inner = sha256(joined(block.map((byte) => byte ^ 0x36), message));
  return sha256(joined(block.map((byte) => byte ^ 0x5c), inner));
}

// ---- whole numbers and coins ----------------------------------------------------------------------------------------------

const freshSecret = () => crypto.getRandomValues(new Uint8Array(32));

const number32 = (value) => Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
const field = (text) => joined(number32(encoder.encode(text).length), encoder.encode(text));

// The stream of a secret and of what it is for, read once from the left.
class Coins {
  constructor(secret, survey, question, value) {
    this.secret = secret;
    this.label = joined(...["tacit permanent 1", survey, question, value].map(field));
    this.blocks = 0;
    this.unread = new Uint8Array(0);
  }

  number(digits) {
    const size = Math.ceil(digits / 8);
    while (this.unread.length < size) {
      this.unread = joined(this.unread, hmac(this.secret, joined(this.label, number32(this.blocks++))));
    }
    const drawn = size ? BigInt("0x" + hexOf(this.unread.slice(0, size))) : 0n;
    this.unread = this.unread.slice(size);
    return drawn & ((1n << BigInt(digits)) - 1n);
  }

  // True with probability top / bottom, exactly: 64 binary digits at a time, until random ones differ from the probability's.
  coin([top, bottom]) {
    for (let rest = top; ;) {
      const digits = (rest << 64n) / bottom;
      rest = (rest << 64n) % bottom;
      const drawn = this.number(64);
      if (drawn !== digits || rest === 0n) return drawn < digits;
    }
  }

  // 0, 1, ..., bound - 1, all equally likely: as many bits as bound - 1 has, and again while they make too large a number.
  below(bound) {
    const digits = bound > 1 ? (BigInt(bound) - 1n).toString(2).length : 0;
    for (;;) {
      const drawn = this.number(digits);
      if (drawn < BigInt(bound)) return Number(drawn);
    }
  }
}

// ---- randomizers: the coins in the same order as `derive` of the Python class of that name --------------------------------

const ratio = (text) => { const [top, bottom] = text.split("/"); return [BigInt(top), BigInt(bottom ?? 1)]; };

const DERIVE = {
  "k-ary": (how, value, coins) => {
    if (coins.coin(ratio(how.hit))) return value;
    const other = coins.below(how.size - 1);
    return other + (other >= value ? 1 : 0);
  },
  "unary": (how, value, coins) => {
    const bit = (_, option) => (coins.coin(ratio(option === value ? how.hit : how.false_hit)) ? "1" : "0");
    return Array.from({ length: how.size }, bit).join("");
  },
  "set": (how, codes, coins) => {
    const sorted = [...codes].sort((one, other) => one - other);
    const place = coins.below(how.most);
    return DERIVE[how.inner.method](how.inner, place < sorted.length ? sorted[place] : how.size + place, coins);
  },
  "one-bit": (how, index, coins) => {
    const [top, bottom] = ratio(how.ratio);
    const steps = BigInt(how.points - 1);
    return coins.coin([steps * bottom + (top - bottom) * BigInt(index), steps * (top + bottom)]) ? 1 : 0;
  },
  "piecewise": (how, index, coins) =>
    coins.coin(ratio(how.near)) ? index + coins.below(how.window) : coins.below(how.outputs),
  "laplace": (how, index, coins) => {
    let [top, bottom] = ratio(how.decay);
    const up = coins.coin([bottom, bottom + top]);
    let moved = 0;
    let step = 1;
    for (; step < how.points - 1; step *= 2) {
      if (coins.coin([top, top + bottom])) moved += step;
      [top, bottom] = [top * top, bottom * bottom];
    }
    if (coins.coin([top, bottom])) moved += step;
    return up ? Math.min(index + moved, how.points - 1) : Math.max(index - moved - 1, 0);
  },
};

// The permanent report of a value: the same secret, survey, question and value always give the same one.
function permanent(how, value, secret, survey, question) {
  const text = Array.isArray(value) ? [...value].sort((one, other) => one - other).join(",") : String(value);
  return DERIVE[how.method](how, value, new Coins(secret, survey, question, text));
}
