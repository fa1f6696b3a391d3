import type { ValueOf } from '../core/field.ts';
import { object, optional } from '../core/object.ts';
import { nameServer } from '../resources/name-server.ts';
import { hostName } from '../core/shared-fields.ts';
import { ConfigError } from './config.ts';
import { readTree } from './file.ts';
import { LOCAL, memberProblems } from './name-server-options.ts';
import { path, url } from './kinds.ts';

const AGENT_FILE = object({
  url: url(),
  caFile: optional(path()),
  tokenFile: path(),
  nameServer: nameServer.fields.name,
  agent: optional(hostName()),
  driver: nameServer.fields.driver,
  local: LOCAL,
});

export type AgentConfig = ValueOf<typeof AGENT_FILE>;

export function isAgentFile(file: string): boolean {
  return 'nameServer' in readTree(file, []);
}

/** Throws `ConfigError` with all problems, including those that `furtherProblems` returns. */
export function readAgentFile(
  file: string,
  furtherProblems: (config: AgentConfig) => readonly string[],
): AgentConfig {
  const problems: string[] = [];
  const tree = readTree(file, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const parsed = AGENT_FILE.parse(tree);
  if ('problem' in parsed)
    problems.push(...memberProblems(AGENT_FILE, tree, parsed, file).map(({ message }) => message));
  const checkable = 'value' in parsed ? parsed.value : checkableAgent(tree);
  if (checkable !== undefined) problems.push(...furtherProblems(checkable));
  if ('value' in parsed && problems.length === 0) return parsed.value;
  throw new ConfigError(problems);
}

/** Returns an invalid file whose members are valid enough to check the options of its driver. */
function checkableAgent(tree: Readonly<Record<string, unknown>>): AgentConfig | undefined {
  const { driver, nameServer: name, tokenFile } = tree;
  const isCheckable =
    'value' in nameServer.fields.driver.parse(driver) &&
    'value' in nameServer.fields.name.parse(name) &&
    'value' in path().parse(tokenFile);
  return isCheckable ? ({ ...tree, caFile: undefined } as unknown as AgentConfig) : undefined;
}
