/**
 * Bytes as text in base 85: five characters hold four bytes, where base 64 needs six. The engines are in the page
 * this way.
 *
 * The digits are the characters from `(` to `|`. `}` replaces `<`, which could end the element around the text.
 */

const FIRST = 40;
const [REPLACED, REPLACEMENT] = [60, 125];

/** @param {Uint8Array} bytes */
export function encoded(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    const own = Math.min(4, bytes.length - at);
    let value = 0;
    for (let byte = at; byte < at + 4; byte += 1) value = value * 256 + (bytes[byte] ?? 0);
    let group = "";
    for (let digit = 0; digit < 5; digit += 1) {
      const code = (value % 85) + FIRST;
      group = String.fromCharCode(code === REPLACED ? REPLACEMENT : code) + group;
      value = Math.floor(value / 85);
    }
    text += group.slice(0, own + 1);
  }
  return text;
}

/** @param {string} text */
export function decoded(text) {
  const bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
  for (let at = 0, to = 0; at < text.length; at += 5, to += 4) {
    let value = 0;
    for (let digit = at; digit < at + 5; digit += 1) {
      // The last group is rounded up, because its digits were cut.
      const code = digit < text.length ? text.charCodeAt(digit) : FIRST + 84;
      value = value * 85 + (code === REPLACEMENT ? REPLACED : code) - FIRST;
    }
    for (let byte = 3; byte >= 0; byte -= 1) {
      if (to + byte < bytes.length) bytes[to + byte] = value % 256;
      value = Math.floor(value / 256);
    }
  }
  return bytes;
}
