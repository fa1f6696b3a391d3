import { enumeration, type Kind, type ValueOf } from '../../domain/model/field.ts';
import { object, optional, withDefault } from '../../domain/model/object.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { hostName } from '../../domain/resources/shared-fields.ts';
import { ConfigError } from '../config.ts';
import { readTree } from '../file.ts';
import { path, url } from '../kinds.ts';

/** The options of a driver. Only the driver checks these options. */
const LOCAL: Kind = { schema: { type: 'object' }, parse: (value) => ({ value }) };

const AGENT_FILE = object({
  url: url(),
  caFile: optional(path()),
  tokenFile: path(),
  nameServer: nameServer.fields.name,
  agent: optional(hostName()),
  driver: nameServer.fields.driver,
  local: LOCAL,
  onDrift: withDefault(enumeration(['repair', 'report']), 'repair'),
});

export type AgentConfig = ValueOf<typeof AGENT_FILE>;

/** Returns whether a configuration file is of an agent rather than of a service. */
export function isAgentFile(file: string): boolean {
  return 'nameServer' in readTree(file, []);
}

/**
 * Reads the configuration file of an agent. Throws `ConfigError` with all problems, including those
 * that `furtherProblems` returns.
 */
export function readAgentFile(
  file: string,
  furtherProblems: (config: AgentConfig) => readonly string[],
): AgentConfig {
  const problems: string[] = [];
  const tree = readTree(file, problems);
  const parsed = problems.length === 0 ? AGENT_FILE.parse(tree) : { problems: [] };
  if ('value' in parsed) problems.push(...furtherProblems(parsed.value));
  else problems.push(...(parsed.problems ?? []).map(({ message }) => `${file}: ${message}`));
  if ('value' in parsed && problems.length === 0) return parsed.value;
  throw new ConfigError(problems);
}
