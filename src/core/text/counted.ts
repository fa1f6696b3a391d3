/** Returns a number with its noun, such as `1 key` and `2 keys`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
