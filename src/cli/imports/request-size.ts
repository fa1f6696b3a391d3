/** The size of a request that every Designate and Tsigil service accepts. */
export const ACCEPTED_BYTES = 90_000;

/** Returns the number of bytes of an item in a JSON array, including the comma. */
export function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value)) + 1;
}
