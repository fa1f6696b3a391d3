/** Returns the text as one word of a POSIX shell, for a command that a person runs. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns a command about a name, with flags, for a POSIX shell. A name that looks like a flag stands
 * at the end, behind `--`.
 */
export function shellCommand(command: string, name: string, flags = ''): string {
  const words = name.startsWith('-')
    ? [command, flags, '--', shellWord(name)]
    : [command, shellWord(name), flags];
  return words.filter((word) => word !== '').join(' ');
}
