export function numberOf(address: string): bigint {
  if (!address.includes(':'))
    return address.split('.').reduce((sum, part) => (sum << 8n) + BigInt(part), 0n);
  const [head = [], tail = []] = shortest(address)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].reduce((sum, part) => (sum << 16n) + BigInt(`0x${part}`), 0n);
}

/** Returns a number as an IP address with `size` bits. */
export function textOf(number: bigint, size: number): string {
  const [count, bits] = size === 32 ? [4, 8n] : [8, 16n];
  const parts = Array.from(
    { length: count },
    (_, index) => (number >> (BigInt(count - 1 - index) * bits)) & ((1n << bits) - 1n),
  );
  if (size === 32) return parts.join('.');
  return shortest(parts.map((part) => part.toString(16)).join(':'));
}

/** Returns the shortest form of an IPv6 address (RFC 5952), which URLs also use. */
function shortest(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
