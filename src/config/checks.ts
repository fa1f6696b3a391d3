import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { parseMasterKeys } from '../core/master-key.ts';
import { joined } from '../core/text/joined.ts';
import { readWholeFile } from '../net/files.ts';
import { faultOf } from '../net/faults.ts';
import { PATH_FORMAT } from './kinds.ts';
import { OPTIONS, valueAt, type Config } from './options.ts';

export function combinationProblems({ auth, tls }: Config): string[] {
  const { keystone } = auth;
  const {
    username,
    password,
    project,
    applicationCredentialId: id,
    applicationCredentialSecret: secret,
  } = keystone;
  const problems = [
    togetherProblem({ 'tls.cert': tls.cert, 'tls.key': tls.key }),
    togetherProblem({
      'auth.keystone.username': username,
      'auth.keystone.password': password,
      'auth.keystone.project': project,
    }),
    togetherProblem({
      'auth.keystone.applicationCredentialId': id,
      'auth.keystone.applicationCredentialSecret': secret,
    }),
  ].flatMap((problem) => problem ?? []);
  if (auth.method.includes('keystone') && keystone.url === undefined) {
    problems.push("'auth.keystone.url' must be set for the method 'keystone'");
  }
  if (keystone.caFile !== undefined && keystone.url?.startsWith('http:') === true) {
    problems.push("'auth.keystone.caFile' needs an https URL in 'auth.keystone.url'");
  }
  if (username !== undefined && id !== undefined) {
    problems.push(
      "'auth.keystone.username' and 'auth.keystone.applicationCredentialId' exclude each other. Set one of them",
    );
  }
  return problems;
}

function togetherProblem(values: Readonly<Record<string, unknown>>): string | undefined {
  const set = Object.values(values).filter((value) => value !== undefined).length;
  if (set === 0 || set === Object.keys(values).length) return undefined;
  const names = Object.keys(values).map((key) => `'${key}'`);
  return `${joined(names, 'and')} must be set together`;
}

/** Only a process that serves requests needs the files, so `readConfig` does not read them. */
export function fileProblems(config: Config): string[] {
  const problems: string[] = [];
  const files = new Map<string, Buffer>();
  for (const { key, kind } of OPTIONS) {
    const path = valueAt(config, key);
    if (kind.schema.format !== PATH_FORMAT || typeof path !== 'string') continue;
    const problem = reasonOfFailure(() => files.set(key, readWholeFile(path)));
    if (problem !== undefined) problems.push(`'${key}': cannot read '${path}': ${problem}`);
  }
  const [cert, key, authorities] = ['tls.cert', 'tls.key', 'auth.keystone.caFile'].map((name) =>
    files.get(name),
  );
  if (cert !== undefined && key !== undefined) {
    const problem = reasonOfFailure(() => createSecureContext({ cert, key }));
    if (problem !== undefined)
      problems.push(
        `'tls.cert' and 'tls.key': cannot use '${config.tls.cert}' and '${config.tls.key}': ${problem}`,
      );
  }
  const masterKeys = files.get('encryption.masterKeyFile');
  const parsed = masterKeys && parseMasterKeys(masterKeys.toString());
  if (parsed !== undefined && 'problem' in parsed)
    problems.push(
      `'encryption.masterKeyFile': '${config.encryption.masterKeyFile}' has no usable master key: ${parsed.problem}`,
    );
  if (authorities !== undefined) {
    const problem = reasonOfFailure(() => new X509Certificate(authorities));
    if (problem !== undefined)
      problems.push(
        `'auth.keystone.caFile': '${config.auth.keystone.caFile}' has no PEM certificate: ${problem}`,
      );
  }
  return problems;
}

/**
 * Leaves out the master key file: the service reports its problems later, with the ids of the keys
 * that the database needs.
 */
export function startFileProblems(config: Config): string[] {
  const encryption = { ...config.encryption, masterKeyFile: undefined };
  return fileProblems({ ...config, encryption });
}

function reasonOfFailure(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return faultOf(error).message;
  }
}
