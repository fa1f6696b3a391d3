import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { version, homepage } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly homepage: string };

export const VERSION = version;

export const GUIDES_URL = `${homepage}/blob/v${version}/docs`;

export const CONSOLE_FOLDER = fileURLToPath(new URL('../dist/console', import.meta.url));
