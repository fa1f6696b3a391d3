export const DAY_MS = 86_400_000;

/** Returns a time in milliseconds since 1970 in the timestamp format of the API. */
export function timestampOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000`;
}

export function millisecondsOf(timestamp: string): number {
  return Date.parse(`${timestamp.slice(0, 23)}Z`);
}

export function earlier(timestamp: string, milliseconds: number): string {
  return timestampOf(millisecondsOf(timestamp) - milliseconds);
}
