import { existsSync } from 'node:fs';
import { isMet } from './tools.ts';

/** The path of the Public Suffix List on Debian. */
export const PUBLIC_SUFFIX_LIST = '/usr/share/publicsuffix/public_suffix_list.dat';

/**
 * Returns whether the Public Suffix List is installed. If not, prints a warning or throws, as
 * `hasProgram` does for a missing program.
 */
export function hasPublicSuffixList(): boolean {
  return isMet(
    existsSync(PUBLIC_SUFFIX_LIST),
    'publicsuffix',
    `${PUBLIC_SUFFIX_LIST} is not there (Debian package publicsuffix)`,
  );
}
