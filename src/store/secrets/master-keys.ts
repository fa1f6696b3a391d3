import type { Keyring, WrappedKey } from '../../domain/encryption/keyring.ts';
import type { MasterKey } from '../../domain/encryption/master-key.ts';

/** The current master keys, or why they cannot be read. */
export interface ReadMasterKeys {
  readonly keys: readonly MasterKey[];
  readonly problem?: string | undefined;
}

/** The problem with a master key file that was removed. */
export const NO_KEYS = 'The master key file no longer exists';

/**
 * Returns a function that reads the master keys again, and uses them if they unwrap every data key.
 * Otherwise, the function keeps the former master keys, and reports each problem once.
 */
export function masterKeyFollower(
  keyring: Keyring,
  readMasterKeys: () => ReadMasterKeys,
  failed: (error: unknown) => void,
): (dataKeys: readonly WrappedKey[]) => void {
  let reported: string | undefined;
  return (dataKeys) => {
    const { keys, problem: unusable } = readMasterKeys();
    if (keyring.masterKeys.length === 0 && keys.length === 0) return;
    const problem =
      unusable ?? (keys.length === 0 ? NO_KEYS : problemWith(keyring, keys, dataKeys));
    if (problem === undefined) keyring.useMasterKeys(keys);
    else if (problem !== reported)
      failed(new Error(`${problem}. The service uses the former master keys until it stops`));
    reported = problem;
  };
}

/**
 * Returns a sentence with the missing master keys if `masterKeys` do not unwrap every data key.
 * Returns undefined if the master keys unwrap every data key, or if there is no master key.
 */
export function problemWith(
  keyring: Keyring,
  masterKeys: readonly MasterKey[],
  dataKeys: readonly WrappedKey[],
): string | undefined {
  if (masterKeys.length === 0) return undefined;
  const lacking = keyring.lacking(dataKeys, masterKeys).map(({ wrappedBy }) => wrappedBy);
  if (lacking.length === 0) return undefined;
  const found = masterKeys.map(({ id }) => id).join(', ');
  return `The source of master keys contains ${found} and lacks master key ${[...new Set(lacking)].join(', ')}`;
}
