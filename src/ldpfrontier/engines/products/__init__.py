"""Columns of one vertex per block: max [sum_s f_s(w_s) - Z log Z] / Z over w_s in K_s, Z = sum_s z_s(w_s)."""
