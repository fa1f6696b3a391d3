import type { Command, Option } from 'commander';
import { commandsBelow, optionsOf } from './flags/help.ts';

/** The shells for which a completion script exists. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A word that can follow a command, with its description. */
interface Word {
  readonly word: string;
  readonly description: string;
}

/** A command in the tree of completions. */
interface Node {
  /** The full command, such as `tsigil tld create`. */
  readonly path: string;
  readonly words: readonly Word[];
  /** Flags with a value. `choices` lists the possible values, or is `files`; undefined allows any text. */
  readonly values: readonly {
    readonly flags: readonly string[];
    readonly choices: readonly string[] | 'files' | undefined;
  }[];
}

/** Returns the script with which `shell` completes commands, flags and the values of flags. It contains the commands of this version. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = [{ words: [program.name()], command: program }, ...commandsBelow(program)].map(
    ({ words, command }) => nodeOf(words.join(' '), command),
  );
  return `${{ bash: bashScript, zsh: zshScript, fish: fishScript }[shell](program.name(), nodes)}\n`;
}

function nodeOf(path: string, command: Command): Node {
  const options = optionsOf(command);
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  return {
    path,
    words: [
      ...command.commands.map((child) => ({
        word: child.name(),
        description: child.summary() || child.description(),
      })),
      ...choices,
      ...options.map(({ long, short, description }) => ({
        word: long ?? short ?? '',
        description,
      })),
    ],
    values: options
      .filter(takesValue)
      .map((option) => ({ flags: flagsOf(option), choices: choicesOf(option) })),
  };
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function choicesOf({ argChoices, flags }: Option): readonly string[] | 'files' | undefined {
  return (
    argChoices ?? (flags.includes('<file>') ? 'files' : flags.includes('<->') ? ['-'] : undefined)
  );
}

/** Quotes text with single quotes, for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the `case` pattern of all commands. The scripts use it to find the command that was typed. */
function pathPatterns(nodes: readonly Node[]): string {
  return nodes
    .slice(1)
    .map(({ path }) => quote(path))
    .join(' | ');
}

/** Returns a `case` line for each set of flags with the same values. `act` returns its shell commands. */
function valueCases(
  nodes: readonly Node[],
  act: (choices: Node['values'][number]['choices']) => string,
): string[] {
  const patterns = new Map<string, string[]>();
  for (const { path, values } of nodes) {
    for (const { flags, choices } of values) {
      const action = act(choices);
      patterns.set(action, [
        ...(patterns.get(action) ?? []),
        ...flags.map((flag) => quote(`${path} ${flag}`)),
      ]);
    }
  }
  return [...patterns].map(([action, list]) => `    ${list.join(' | ')}) ${action} ;;`);
}

function bashScript(name: string, nodes: readonly Node[]): string {
  const reply = (words: readonly string[]) =>
    `COMPREPLY=($(compgen -W ${quote(words.join(' '))} -- "$word"))`;
  const values = valueCases(nodes, (choices) => {
    if (choices === 'files')
      return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return';
    return choices === undefined ? 'return' : `${reply(choices)}; return`;
  });
  const words = nodes.map(
    (node) => `    ${quote(node.path)}) ${reply(node.words.map(({ word }) => word))} ;;`,
  );
  return `# Completion of ${name} for bash, as '${name} completion bash' prints it.
_${name}() {
  local IFS=$' \\t\\n' word=\${COMP_WORDS[COMP_CWORD]} command=${name} i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
      ${pathPatterns(nodes)}) command="$command \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
}
complete -F _${name} ${name}`;
}

function zshScript(name: string, nodes: readonly Node[]): string {
  const values = valueCases(nodes, (choices) => {
    if (choices === 'files') return '_files; return';
    return choices === undefined
      ? "_message 'value'; return"
      : `compadd -- ${choices.map(quote).join(' ')}; return`;
  });
  // _describe splits each argument at its first unescaped colon.
  const describe = ({ word, description }: Word) =>
    quote(`${word.replaceAll(':', '\\:')}:${description}`);
  const words = nodes.map(
    (node) => `    ${quote(node.path)}) words_here=(${node.words.map(describe).join(' ')}) ;;`,
  );
  return `#compdef ${name}
# Completion of ${name} for zsh, as '${name} completion zsh' prints it.
_${name}() {
  local command=${name} i
  local -a words_here
  for ((i = 2; i < CURRENT; i++)); do
    case "$command \${words[i]}" in
      ${pathPatterns(nodes)}) command="$command \${words[i]}" ;;
    esac
  done
  case "$command \${words[CURRENT - 1]}" in
${values.join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
  _describe '${name}' words_here
}
if [ "\${funcstack[1]}" = _${name} ]; then _${name} "$@"; else compdef _${name} ${name}; fi`;
}

function fishScript(name: string, nodes: readonly Node[]): string {
  const quoteFish = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = nodes.flatMap(({ path, words, values }) => {
    const when = `complete -c ${name} -n ${quoteFish(`__${name}_at '${path}'`)}`;
    return words.map(({ word, description }) => {
      const about = `-d ${quoteFish(description)}`;
      if (!word.startsWith('--')) return `${when} -f -a ${quoteFish(word)} ${about}`;
      const flag = values.find(({ flags }) => flags.includes(word));
      const shorts = (flag?.flags ?? [])
        .filter((each) => /^-\w$/.test(each))
        .map((each) => ` -s ${each.slice(1)}`);
      return `${when}${shorts.join('')} -l ${word.slice(2)} ${flag === undefined ? '-f' : fishValue(flag.choices)} ${about}`;
    });
  });
  const paths = nodes.slice(1).map(({ path }) => quoteFish(path));
  return `# Completion of ${name} for fish, as '${name} completion fish' prints it.
function __${name}_at
    set -l command ${name}
    for word in (commandline -opc)[2..]
        contains -- "$command $word" ${paths.join(' ')}; and set command "$command $word"
    end
    test "$command" = $argv[1]
end
complete -c ${name} -f
${lines.join('\n')}`;
}

/** Returns the arguments of fish's `complete` for the values of a flag. */
function fishValue(choices: Node['values'][number]['choices']): string {
  if (choices === 'files') return '-r -F';
  return choices === undefined ? '-x' : `-x -a '${choices.join(' ')}'`;
}
