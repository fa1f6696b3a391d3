/**
 * Returns a function that creates jobs, which run until they are released. Also returns the names
 * of the jobs in the order in which they began.
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
