import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The path of the PowerDNS schema for SQLite. */
export const SCHEMA = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql';

/** Returns the folder of the PowerDNS modules, or '' if it does not exist. */
export function moduleFolder(): string {
  for (const name of readdirSync('/usr/lib')) {
    const folder = join('/usr/lib', name, 'pdns');
    try {
      if (readdirSync(folder).length > 0) return folder;
    } catch {
      // Most folders in /usr/lib have no subfolder `pdns`.
    }
  }
  return '';
}
