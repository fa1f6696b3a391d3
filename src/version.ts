import { readFileSync } from 'node:fs';

const { version, homepage } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly homepage: string };

export const VERSION = version;

/** The URL of the folder with the guides of this version. */
export const GUIDES_URL = `${homepage}/blob/v${version}/docs`;
