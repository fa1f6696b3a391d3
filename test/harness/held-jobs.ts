/**
 * Returns the function `job`. Each job that `job` creates runs until `release`. `began` has the
 * names of started jobs in order.
 */
export function heldJobs() {
  const began: string[] = [];
  const releases = new Map<string, () => void>();
  const job = (name: string) => () =>
    new Promise<string>((resolve) => {
      began.push(name);
      releases.set(name, () => resolve(name));
    });
  const release = async (name: string) => {
    releases.get(name)?.();
    await new Promise((resume) => setImmediate(resume));
  };
  return { began, job, release };
}
