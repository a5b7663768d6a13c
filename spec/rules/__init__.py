"""The rules of the machine. Each is one function: guard, effect, observation, in that order.

Reading order: transfer (what a getter does), tensors (what traces), sync (the phases of a sync),
donation, execution (what the device does), reading.
"""
