import type { Command, Option } from 'commander';
import { optionsOf } from './flags/help.ts';
import { RESOURCE_COMMANDS } from './flags/resource-table.ts';

/** The shells for which a completion script exists. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A word that can follow a command, with its description. */
interface Word {
  readonly word: string;
  readonly description: string;
}

/** The nouns of the types whose names a script reads from the service. */
const NOUNS: readonly string[] = RESOURCE_COMMANDS.map(({ type }) => type.noun);

/**
 * The possible values of a flag: a list, files, or names of resources. Undefined allows any text.
 */
type Choices = readonly string[] | 'files' | { readonly namesOf: string } | undefined;

/** A command in the tree of completions. */
interface Node {
  /** The full command, such as `tsigil tld create`. */
  readonly path: string;
  readonly words: readonly Word[];
  /** The noun of the resources to which the arguments of the command refer. */
  readonly namesOf: string | undefined;
  /** Flags with a value. */
  readonly values: readonly { readonly flags: readonly string[]; readonly choices: Choices }[];
}

/**
 * Returns the script with which `shell` completes commands, flags, the values of flags and the
 * names of resources. The script contains the commands of this version, and runs the program to get
 * names.
 */
export function completionScript(program: Command, shell: Shell): string {
  const name = program.name();
  const nodes = [nodeOf(name, program), ...helpNodes(program), ...nodesBelow(program, name)];
  return `${{ bash: bashScript, zsh: zshScript, fish: fishScript }[shell](name, nodes)}\n`;
}

/** Returns a node for each command below `command`, and for each of its aliases. */
function nodesBelow(command: Command, path: string): Node[] {
  const visible = command.createHelp().visibleCommands(command);
  return command.commands
    .filter((child) => visible.includes(child))
    .flatMap((child) =>
      [child.name(), ...child.aliases()].flatMap((word) => [
        nodeOf(`${path} ${word}`, child),
        ...nodesBelow(child, `${path} ${word}`),
      ]),
    );
}

/** Returns the nodes for `help`, whose argument is the name of a command. */
function helpNodes(program: Command): Node[] {
  return [program, ...program.commands.filter(({ commands }) => commands.length > 0)].map(
    (command) => ({
      path: `${program.name()} help${command === program ? '' : ` ${command.name()}`}`,
      words: commandWords(command),
      namesOf: undefined,
      values: [],
    }),
  );
}

function commandWords(command: Command): Word[] {
  const visible = command.createHelp().visibleCommands(command);
  return command.commands
    .filter((child) => visible.includes(child))
    .map((child) => ({ word: child.name(), description: child.summary() || child.description() }));
}

function nodeOf(path: string, command: Command): Node {
  const options = optionsOf(command);
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  return {
    path,
    words: [
      ...commandWords(command),
      ...choices,
      ...options.map(({ long, short, description }) => ({
        word: long ?? short ?? '',
        description,
      })),
    ],
    namesOf: command.registeredArguments
      .map((argument) => argument.name())
      .find((argument) => NOUNS.includes(argument)),
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

function choicesOf({ argChoices, flags }: Option): Choices {
  const [, placeholder = ''] = /<([\w-]+)(?:\.\.\.)?>/.exec(flags) ?? [];
  if (argChoices !== undefined) return argChoices;
  if (placeholder === 'file' || placeholder === 'folder') return 'files';
  if (placeholder === '-') return ['-'];
  return NOUNS.includes(placeholder) ? { namesOf: placeholder } : undefined;
}

/** Quotes text with single quotes, for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns the `case` pattern of all commands. The scripts use this pattern to find the command in a
 * command line.
 */
function pathPatterns(nodes: readonly Node[]): string {
  return nodes
    .slice(1)
    .map(({ path }) => quote(path))
    .join(' | ');
}

/**
 * Returns a `case` line for each set of flags with the same values. `act` returns the shell
 * commands for these values.
 */
function valueCases(nodes: readonly Node[], act: (choices: Choices) => string): string[] {
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
  const names = (noun: string) => `_${name}_names ${noun}`;
  const values = valueCases(nodes, (choices) => {
    if (choices === 'files')
      return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return';
    if (choices === undefined) return 'return';
    return 'namesOf' in choices ? `${names(choices.namesOf)}; return` : `${reply(choices)}; return`;
  });
  const words = nodes.map(({ path, namesOf, words: offered }) => {
    const flags = reply(offered.map(({ word }) => word));
    const first = namesOf === undefined ? '' : `${names(namesOf)}; ((\${#COMPREPLY[@]})) || `;
    return `    ${quote(path)}) ${first}${flags} ;;`;
  });
  return `# Completion of ${name} for bash, generated by '${name} completion bash'.
_${name}_names() {
  local name quoted
  [[ $word == -* ]] && return
  while IFS= read -r name; do
    printf -v quoted %q "$name"
    [[ $name == "$word"* || $quoted == "$word"* ]] && COMPREPLY+=("$quoted")
  done < <(${name} names "$1" --prefix="$word" --line="\${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
}
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
    if (choices === undefined) return "_message 'value'; return";
    return 'namesOf' in choices
      ? `_${name}_names ${choices.namesOf}; return`
      : `compadd -- ${choices.map(quote).join(' ')}; return`;
  });
  // _describe splits each argument at its first unescaped colon.
  const describe = ({ word, description }: Word) =>
    quote(`${word.replaceAll(':', '\\:')}:${description}`);
  const words = nodes.map(({ path, namesOf, words: offered }) => {
    const first = namesOf === undefined ? '' : `_${name}_names ${namesOf} && return; `;
    return `    ${quote(path)}) ${first}words_here=(${offered.map(describe).join(' ')}) ;;`;
  });
  return `#compdef ${name}
# Completion of ${name} for zsh, generated by '${name} completion zsh'.
_${name}_names() {
  local -a names
  [[ $PREFIX == -* ]] && return 1
  names=(\${(f)"$(${name} names $1 --prefix="\${(Q)PREFIX}" --line="\${words[*]}" 2>/dev/null </dev/null)"})
  (( $#names )) && compadd -a names
}
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
  const names = (noun: string) =>
    `'(${name} names ${noun} --prefix=(commandline -ct) --line=(commandline -cp) 2>/dev/null)'`;
  const lines = nodes.flatMap(({ path, words, values, namesOf }) => {
    const when = `complete -c ${name} -n ${quoteFish(`__${name}_at '${path}'`)}`;
    const first = namesOf === undefined ? [] : [`${when} -f -a ${names(namesOf)}`];
    const others = words.map(({ word, description }) => {
      const about = `-d ${quoteFish(description)}`;
      if (!word.startsWith('--')) return `${when} -f -a ${quoteFish(word)} ${about}`;
      const flag = values.find(({ flags }) => flags.includes(word));
      const shorts = (flag?.flags ?? [])
        .filter((each) => /^-\w$/.test(each))
        .map((each) => ` -s ${each.slice(1)}`);
      return `${when}${shorts.join('')} -l ${word.slice(2)} ${flag === undefined ? '-f' : fishValue(flag.choices, names)} ${about}`;
    });
    return [...first, ...others];
  });
  const paths = nodes.slice(1).map(({ path }) => quoteFish(path));
  return `# Completion of ${name} for fish, generated by '${name} completion fish'.
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
function fishValue(choices: Choices, names: (noun: string) => string): string {
  if (choices === 'files') return '-r -F';
  if (choices === undefined) return '-x';
  return `-x -a ${'namesOf' in choices ? names(choices.namesOf) : `'${choices.join(' ')}'`}`;
}
