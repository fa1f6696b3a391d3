/** Returns the timestamp of the API for milliseconds since 1970. */
export function timestampOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000`;
}

/** Returns the milliseconds since 1970 of a timestamp of the API. */
export function millisecondsOf(timestamp: string): number {
  return Date.parse(`${timestamp.slice(0, 23)}Z`);
}

/** Returns the timestamp of the API that is `milliseconds` before another. */
export function earlier(timestamp: string, milliseconds: number): string {
  return timestampOf(millisecondsOf(timestamp) - milliseconds);
}
