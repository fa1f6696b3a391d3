/**
 * What `src/core/text` uses of `node:url`, for browsers. Both follow the URL standard. Returns an
 * empty text for a host that has no ASCII form.
 */
export function domainToASCII(host: string): string {
  try {
    return new URL(`http://${host}/`).hostname;
  } catch {
    return '';
  }
}
