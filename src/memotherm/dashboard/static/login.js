// Who is logged in, for every component: {key, scope, trust, read_only, cookie}.
import { createContext, useContext } from "./html.js";

export const Login = createContext({ key: null, scope: {}, trust: "agent", read_only: true, cookie: false });
export const useLogin = () => useContext(Login);
// Whether the reader may change memories.
export const useWritable = () => !useLogin().read_only;
