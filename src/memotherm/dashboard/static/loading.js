// Values that a page loads from the server.
import { useReconnected } from "./connection.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";

// Load a value when the component appears and whenever `inputs` change.
// Return {value, error, loading, reload}; while it loads again, the former value stays.
export function useLoaded(load, inputs = []) {
  const [state, setState] = useState({ value: undefined, error: null, loading: true });
  const newest = useRef(0);
  const run = useCallback(() => {
    const number = ++newest.current;
    setState((before) => ({ ...before, loading: true }));
    return load().then(
      (value) => number === newest.current && setState({ value, error: null, loading: false }),
      (error) => number === newest.current && setState((before) => ({ ...before, error, loading: false })),
    );
  }, inputs);
  useEffect(() => { run(); return () => { newest.current++; }; }, [run]);
  useReconnected(run);
  return { ...state, reload: run };
}
